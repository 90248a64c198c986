import type { PanelAction } from "propylon/panels";
import { useState, type ReactNode } from "react";
import { useAbout } from "../about.tsx";
import { Asked } from "../form/asked.tsx";
import { Act } from "../parts/act.tsx";
import { Snippet } from "../parts/copy.tsx";
import { commandFor, type ShownRequest } from "../parts/curl.tsx";
import { Dialog } from "../parts/dialog.tsx";
import type { HitsRoute } from "../parts/hits.tsx";
import { type NamedSecret, Secret, secretOf } from "../parts/secret.tsx";
import { Words } from "../parts/text.tsx";
import { fillIn, valueAt } from "../kit/pointer.ts";
import type { Params } from "../request.ts";
import { countOf, toText } from "../kit/words.ts";
import { hitsRoute, splitRoute, type Context } from "./view.ts";

type Action = PanelAction<unknown>;

/** What can be done with a row now. */
export function Actions(props: {
  readonly actions: readonly Action[];
  readonly row: unknown;
  readonly context: Context;
  /** Kind of events after which it is asked again whom they hit. */
  readonly live: string | undefined;
}): ReactNode {
  const { row, live } = props;
  // Not in the button: the row may be in another state afterwards, and has another one.
  const [secret, setSecret] = useState<NamedSecret>();
  const offered = props.actions
    .filter(({ when }) => fits(when, row))
    .map((action) => {
      const request = requestOf(action, row, props.context);
      return { action, row, request, about: hitsRoute(action.about, request.params, live) };
    });
  return (
    <>
      {offered.map((each) => {
        const { label, input } = each.action;
        const onDone = (answer: unknown): void => setSecret(secretOf(answer, each.action, row));
        const Button = input === undefined ? PlainAction : AskedAction;
        return <Button key={label} {...each} onDone={onDone} />;
      })}
      <Commands
        of={offered.filter(({ action }) => action.input === undefined && !asksFirst(action))}
      />
      {secret && <Secret {...secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}

/** An action of one row, and what it asks the gateway. */
interface RowAction {
  readonly action: Action;
  readonly row: unknown;
  readonly request: ShownRequest;
  readonly about: HitsRoute | undefined;
}

type DoneRowAction = RowAction & { readonly onDone: (answer: unknown) => void };

/** What a button is called, and what it does. */
function namesOf({ label, name, what }: Action, row: unknown) {
  const called = name === undefined ? undefined : fillIn(name, row);
  return { called, done: what === undefined ? (called ?? label) : fillIn(what, row) };
}

/** An action that is one request. */
function PlainAction({ action, row, request, about, onDone }: DoneRowAction): ReactNode {
  const { label, tone = "quiet", confirm } = action;
  const { called, done } = namesOf(action, row);
  return (
    <Act
      {...request}
      what={done}
      tone={tone}
      onDone={onDone}
      done={(answer) => saidBy(action, answer, row, done)}
      {...(called !== undefined && { label: called })}
      about={about}
      {...(confirm !== undefined && { confirm: <Words>{confirm}</Words> })}
    >
      <Words>{label}</Words>
    </Act>
  );
}

/** What is said when it worked. */
function saidBy({ done }: Action, answer: unknown, row: unknown, what: string): string | undefined {
  return done === undefined ? endedBy(answer, what) : fillIn(done, answer, row);
}

/** What a change ended, where its answer says it. */
function endedBy(answer: unknown, what: string): string | undefined {
  const { ended } = (answer ?? {}) as {
    ended?: { sessions: number; streams: number; calls: number };
  };
  if (!ended) return undefined;
  const { sessions, streams, calls } = ended;
  if (sessions + streams + calls === 0) return `Confirmed: ${what}.`;
  return `Confirmed: ${what}. It ended ${countOf(sessions, "session")}, ${countOf(streams, "stream")} and ${countOf(calls, "call")}.`;
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
function AskedAction({ action, row, request, about, onDone }: DoneRowAction): ReactNode {
  const { label, input, confirm, choices, tone, submit = label, defaults } = action;
  const { called, done } = namesOf(action, row);
  return (
    <Asked
      {...request}
      label={label}
      name={called}
      submit={submit}
      tone={tone}
      input={withDefaults(input, defaults, row)}
      confirm={confirm}
      choices={choices}
      about={about}
      done={(answer) => saidBy(action, answer, row, done) ?? `Confirmed: ${done}.`}
      onDone={onDone}
    />
  );
}

/** A form that begins with values of the row. */
function withDefaults(input: unknown, defaults: Action["defaults"] = {}, row: unknown): unknown {
  const schema = input as { readonly properties?: Readonly<Record<string, object>> };
  const begun = Object.entries(defaults)
    .map(([name, pointer]) => [name, valueAt(row, pointer)] as const)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [name, { ...schema.properties?.[name], default: value }] as const);
  return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(begun) } };
}
