import { useState, type ReactNode } from "react";
import { type NamedSecret, Secret, secretOf } from "../parts/secret.tsx";
import { Asking } from "../form/asking.tsx";
import { fillIn } from "../kit/pointer.ts";
import { hitsRoute, splitRoute, type Context, type ViewOf } from "./view.ts";

/** A form that makes one request. */
export function FormView(props: {
  readonly view: ViewOf<"form">;
  readonly context: Context;
}): ReactNode {
  const { view, context } = props;
  const [secret, setSecret] = useState<NamedSecret>();
  const { route, query } = splitRoute(view.route);
  return (
    <>
      <Asking
        route={route}
        params={{ ...context, ...query }}
        input={view.input}
        submit={view.submit}
        confirm={view.confirm}
        choices={view.choices}
        about={hitsRoute(view.about, { ...context, ...query }, undefined)}
        done={view.done === undefined ? undefined : (answer) => fillIn(view.done!, answer)}
        onDone={(answer) => setSecret(secretOf(answer, view))}
      />
      {secret && <Secret {...secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}
