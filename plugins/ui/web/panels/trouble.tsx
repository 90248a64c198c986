import type { ReactNode } from "react";
import { Words } from "../parts/text.tsx";

/** What is wrong with a panel, in place of it. */
export function PanelTrouble(props: {
  readonly plugin: string;
  readonly message: string;
}): ReactNode {
  return (
    <div className="trouble" role="alert">
      <p>
        This part of the plugin <Words>{props.plugin}</Words> does not work:{" "}
        <Words>{props.message}</Words>
      </p>
    </div>
  );
}
