import type { PanelAction } from "propylon/panels";
import { useState, type ReactNode } from "react";
import { useAbout } from "../about.tsx";
import { Asked } from "../form/asked.tsx";
import { Act } from "../parts/act.tsx";
import { Snippet } from "../parts/copy.tsx";
import { commandFor, type ShownRequest } from "../parts/curl.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Secret, secretAt } from "../parts/secret.tsx";
import { Words } from "../parts/text.tsx";
import { valueAt } from "../kit/pointer.ts";
import type { Params } from "../request.ts";
import { toText } from "../kit/words.ts";
import { Notice, noticeOf } from "./notice.tsx";
import { splitRoute, type Context } from "./view.ts";

type Action = PanelAction<unknown>;

/** What can be done with a row now. */
export function Actions(props: {
  readonly actions: readonly Action[];
  readonly row: unknown;
  readonly context: Context;
}): ReactNode {
  // Not in the button: the row may be in another state afterwards, and has another one.
  const [secret, setSecret] = useState<string>();
  const offered = props.actions
    .filter(({ when }) => fits(when, props.row))
    .map((action) => ({ action, request: requestOf(action, props.row, props.context) }));
  return (
    <>
      {offered.map(({ action, request }) => {
        const onDone = (answer: unknown): void => setSecret(secretAt(answer, action.secret));
        const shared = { action, request, onDone };
        if (action.input === undefined) return <PlainAction key={action.label} {...shared} />;
        return <AskedAction key={action.label} {...shared} />;
      })}
      <Commands
        of={offered.filter(({ action }) => action.input === undefined && !asksFirst(action))}
      />
      {secret !== undefined && <Secret text={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}

/** An action of one row, and what it asks the gateway. */
interface RowAction {
  readonly action: Action;
  readonly request: ShownRequest;
}

type DoneRowAction = RowAction & { readonly onDone: (answer: unknown) => void };

/** An action that is one request. */
function PlainAction({ action, request, onDone }: DoneRowAction): ReactNode {
  return (
    <Act
      {...request}
      what={action.label}
      tone="quiet"
      onDone={onDone}
      {...(asksFirst(action) && {
        confirm: (
          <>
            {action.confirm !== undefined && <Words>{action.confirm}</Words>}
            {action.about && <Notice about={action.about} params={request.params} />}
          </>
        ),
      })}
    >
      <Words>{action.label}</Words>
    </Act>
  );
}

/** Actions that ask nothing first, for a shell. The dialogs of the others copy theirs. */
function Commands({ of }: { readonly of: readonly RowAction[] }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const about = useAbout();
  if (of.length === 0) return null;
  return (
    <>
      <button type="button" className="quiet" data-effect="dialog" onClick={() => setOpen(true)}>
        As curl
      </button>
      {isOpen && (
        <Dialog title="As curl" onClose={() => setOpen(false)}>
          {of.map(({ action: { label }, request }) => (
            <section key={label} className="section">
              <h3>
                <Words>{label}</Words>
              </h3>
              <Snippet text={commandFor(about, request)} label={label} />
            </section>
          ))}
        </Dialog>
      )}
    </>
  );
}

/** Whether an action says something before it is made. */
function asksFirst({ confirm, about }: Action): boolean {
  return confirm !== undefined || about !== undefined;
}

/** Whether a row is in a state that an action is for. */
function fits(when: Action["when"] = {}, row: unknown): boolean {
  return Object.entries(when).every(([pointer, values]) =>
    values.some((value) => value === (valueAt(row, pointer) ?? null)),
  );
}

function requestOf(action: Action, row: unknown, context: Context): ShownRequest {
  const { route, query } = splitRoute(action.route);
  const params = { ...paramsOf(action.params, row, context), ...query };
  return { route, params, body: action.body };
}

function paramsOf(
  pointers: Readonly<Record<string, string>> = {},
  row: unknown,
  context: Context,
): Params {
  const entries = Object.entries(pointers).map(([name, pointer]) => {
    const value = valueAt(row, pointer);
    return [name, typeof value === "number" ? value : toText(value)] as const;
  });
  return { ...context, ...Object.fromEntries(entries) };
}

/** An action that asks for something first. */
function AskedAction({ action, request, onDone }: DoneRowAction): ReactNode {
  const { label, input, confirm, choices, about } = action;
  return (
    <Asked
      {...request}
      label={label}
      input={input}
      confirm={confirm}
      choices={choices}
      about={noticeOf(about, request.params)}
      onDone={onDone}
    />
  );
}
