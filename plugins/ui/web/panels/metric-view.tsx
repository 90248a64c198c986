import type { ReactNode } from "react";
import { Loaded } from "../parts/loaded.tsx";
import { Words } from "../parts/text.tsx";
import { valueAt } from "../kit/pointer.ts";
import { Cell } from "./cell.tsx";
import { useFrom } from "./use-from.ts";
import type { Context, ViewOf } from "./view.ts";

/** One number. */
export function MetricView(props: {
  readonly view: ViewOf<"metric">;
  readonly context: Context;
}): ReactNode {
  const { view, context } = props;
  const query = useFrom(view.from, view.live, context);
  return (
    <Loaded query={query} what="The value">
      {(data) => (
        <p className="metric">
          <span className="figure">
            <Cell value={valueAt(data, view.value)} as="number" />
          </span>{" "}
          <span className="faint">
            <Words>{view.unit}</Words>
          </span>
        </p>
      )}
    </Loaded>
  );
}
