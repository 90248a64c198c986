import type { ReactNode } from "react";
import { Asking } from "./asking.tsx";
import type { Context, PanelView } from "./view.ts";

/** A form that makes one request. */
export function FormView(props: {
  readonly view: NonNullable<PanelView["form"]>;
  readonly context: Context;
}): ReactNode {
  const { view, context } = props;
  return (
    <Asking
      route={view.route}
      params={{ ...context }}
      input={view.input}
      body={undefined}
      submit={view.submit}
      confirm={view.confirm}
      onDone={() => {}}
    />
  );
}
