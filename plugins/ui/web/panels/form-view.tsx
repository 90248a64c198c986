import { useState, type ReactNode } from "react";
import { Secret, secretAt } from "../parts/secret.tsx";
import { Asking } from "../form/asking.tsx";
import type { Context, PanelView } from "./view.ts";

/** A form that makes one request. */
export function FormView(props: {
  readonly view: NonNullable<PanelView["form"]>;
  readonly context: Context;
}): ReactNode {
  const { view, context } = props;
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <Asking
        route={view.route}
        params={{ ...context }}
        input={view.input}
        submit={view.submit}
        confirm={view.confirm}
        onDone={(answer) => setSecret(secretAt(answer, view.secret))}
      />
      {secret !== undefined && <Secret text={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}
