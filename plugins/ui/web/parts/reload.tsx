import { useState, type ReactNode } from "react";
import { useRight } from "../about.tsx";
import type { ReloadAnswer } from "../model.ts";
import { useChange } from "../query.ts";
import type { Route } from "../request.ts";
import { Dialog } from "./dialog.tsx";
import { useNotify } from "./notices.tsx";
import { Words } from "./text.tsx";

const RELOAD: Route = "POST /_meta/reload";

/** Reads the config again: first what it would change, then, if that is wanted, the change. */
export function Reload(): ReactNode {
  const right = useRight(RELOAD);
  const notify = useNotify();
  const [plan, setPlan] = useState<ReloadAnswer>();
  const request = (isDry: boolean) => ({ params: { dry: isDry ? 1 : undefined } });
  const { mutate, isPending } = useChange<ReloadAnswer, boolean>(RELOAD, request, {
    onError: (error) => notify(error, "Reload"),
    onSuccess: (answer, isDry) => {
      setPlan(isDry ? answer : undefined);
      if (!isDry) notify(answer.applied === false ? "Nothing to apply." : "The config is applied.");
    },
  });
  if (!right.isThere) return null;
  const isOff = right.reason !== undefined;
  return (
    <>
      <button
        type="button"
        data-route={RELOAD}
        aria-disabled={isOff || undefined}
        aria-busy={isPending || undefined}
        title={right.reason}
        onClick={() => !isOff && !isPending && mutate(true)}
      >
        Reload config
      </button>
      {plan && (
        <Dialog title="Reload the config?" onClose={() => setPlan(undefined)}>
          <PlanText plan={plan} />
          <footer className="row">
            <button type="button" onClick={() => setPlan(undefined)}>
              Cancel
            </button>
            <button
              type="button"
              className="primary"
              data-route={RELOAD}
              aria-busy={isPending || undefined}
              onClick={() => !isPending && mutate(false)}
            >
              Apply
            </button>
          </footer>
        </Dialog>
      )}
    </>
  );
}

/** What a config would change, in words. */
export function PlanText({ plan }: { readonly plan: ReloadAnswer }): ReactNode {
  const rows = [...rowsOf("server", plan.servers), ...rowsOf("plugin", plan.plugins)];
  return (
    <>
      {rows.length === 0 ? (
        <p>The file says what is in force already: nothing would change.</p>
      ) : (
        <ul>
          {rows.map((row) => (
            <li key={row}>
              <Words>{row}</Words>
            </li>
          ))}
        </ul>
      )}
      {plan.restartRequired.length > 0 && (
        <p>
          Only after a restart: <Words>{plan.restartRequired.join(", ")}</Words>
        </p>
      )}
    </>
  );
}

function rowsOf(what: string, changes: ReloadAnswer["servers"]): string[] {
  return (["added", "changed", "removed"] as const).flatMap((how) =>
    changes[how].map((name) => `${what} ${name}: ${how}`),
  );
}
