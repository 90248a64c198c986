import type { PanelChoices } from "propylon/panels";
import { useState, type FormEvent, type ReactNode } from "react";
import { useRight } from "../about.tsx";
import { Confirm } from "../parts/act.tsx";
import { CopyCurl } from "../parts/curl.tsx";
import { useHits, type HitsRoute } from "../parts/hits.tsx";
import { useNotify } from "../parts/notices.tsx";
import { Words } from "../parts/text.tsx";
import { Trouble } from "../parts/trouble.tsx";
import { useChange } from "../query.ts";
import type { Params, Route } from "../request.ts";
import { useChosen, withoutStale } from "./choices.ts";
import { Members } from "./fields.tsx";
import { ProblemsContext, useProblems } from "./problems.ts";
import { initialOf, toForm, toValue, withoutPasswords } from "./schema.ts";

/** What is asked for, and the request that is made with it. */
export interface AskingProps {
  readonly route: Route;
  readonly params?: Params | undefined;
  /** JSON Schema of what is asked for. */
  readonly input: unknown;
  /** Values of its members that routes answer. */
  readonly choices?: Readonly<Record<string, PanelChoices>> | undefined;
  /** What is sent besides. */
  readonly body?: unknown;
  readonly submit: string;
  readonly confirm?: string | undefined;
  /** Says what it will do, and to whom, with what is filled in; in place of passwords there are words. */
  readonly about?: HitsRoute | undefined;
  /** A sentence for when it worked. */
  readonly done?: ((answer: unknown) => string) | undefined;
  readonly onDone?: ((answer: unknown) => void) | undefined;
}

/** A form from a JSON Schema that makes one request. */
export function Asking(props: AskingProps): ReactNode {
  const { route, params, submit } = props;
  const [filled, setFilled] = useState<unknown>(() => initialOf(toForm(props.input)));
  const { schema, answers } = useChosen(props.input, props.choices, filled, params);
  const form = toForm(schema);
  const [isAsking, setAsking] = useState(false);
  const right = useRight(route);
  const notify = useNotify();
  const request = () => ({ params, body: bodyWith(value) });
  const { mutate, error, isPending } = useChange<unknown>(route, request, {
    onSuccess: (answer) => {
      notify(props.done?.(answer) ?? `Confirmed: ${submit}.`);
      setFilled(initialOf(form));
      props.onDone?.(answer);
    },
  });
  const problems = useProblems(error);
  const value = toValue(form, filled, true) as Readonly<Record<string, unknown>>;
  const shown = withoutPasswords(form, value);
  const bodyWith = (given: unknown): object => ({
    ...(props.body as object),
    ...(given as object),
  });
  // What was chosen for another is not offered any more.
  const change = (next: unknown): void => setFilled(withoutStale(next, filled, props.choices));
  const hits = useHits(props.about, shown, props.confirm !== undefined);
  const confirm = props.confirm ?? hits.unasked;
  const isOff = right.reason !== undefined || !hits.isTold;
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    if (isOff || isPending) return;
    if (confirm === undefined) mutate();
    else setAsking(true);
  };
  if (form.kind !== "group")
    return <p className="note">There is no form for what it takes; ask {route} by hand.</p>;
  return (
    <form className="fields" onSubmit={onSubmit}>
      <ProblemsContext value={problems}>
        <Members members={form.members} value={filled} onChange={change} answers={answers} />
      </ProblemsContext>
      {hits.content}
      {right.reason !== undefined && <p className="note">{right.reason}</p>}
      {error && <Trouble error={error} what={submit} />}
      <footer className="row">
        <button
          type="submit"
          className="primary"
          data-route={route}
          aria-disabled={isOff || undefined}
          aria-busy={isPending || undefined}
        >
          <Words>{submit}</Words>
        </button>
        <CopyCurl request={{ route, params, body: bodyWith(shown) }} />
      </footer>
      {isAsking && (
        <Confirm what={submit} onClose={() => setAsking(false)} onConfirm={() => mutate()}>
          <Words>{confirm}</Words>
        </Confirm>
      )}
    </form>
  );
}
