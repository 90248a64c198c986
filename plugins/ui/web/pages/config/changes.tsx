import { useQuery } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { useRight } from "../../about.tsx";
import type { ReloadAnswer } from "../../model.ts";
import { useNotify } from "../../parts/notices.tsx";
import { Section } from "../../parts/page.tsx";
import { PlanText } from "../../parts/reload.tsx";
import { Words } from "../../parts/text.tsx";
import { Trouble } from "../../parts/trouble.tsx";
import { useChange } from "../../query.ts";
import { ask, type RequestFailure, type Route } from "../../request.ts";
import {
  APPLY,
  editsOf,
  toValue,
  type Change,
  type Draft,
  type Path,
  type useDraft,
} from "./draft.ts";

const CHECK: Route = "POST /_meta/config/check";

/** The gateway checks what is typed after a pause of typing. */
const PAUSE_MS = 250;

/** What was typed, what the gateway says about it, and what it would do. */
export function Changes(props: {
  readonly drafting: ReturnType<typeof useDraft>;
  readonly draft: Draft;
  /** Version of the config that is in force now. */
  readonly version: string;
  readonly valueAt: (path: Path) => unknown;
}): ReactNode {
  const { drafting, draft, version, valueAt } = props;
  const edits = editsOf(draft);
  const checked = useChecked(edits, version);
  const isOld = draft.version !== version;
  const { apply, isBusy, error } = useApply(draft, drafting.clear);
  const right = useRight(APPLY);
  const isOff = right.reason !== undefined || isOld || !checked.data;
  return (
    <Section
      title="Changes"
      actions={
        <button type="button" className="quiet" data-effect="field" onClick={drafting.clear}>
          Take all back
        </button>
      }
    >
      {isOld && (
        <div className="note" role="alert">
          <p>
            The config was changed by somebody else since you began. What you typed is kept; look at
            what is in force now, and go on.
          </p>
          <button
            type="button"
            data-effect="field"
            onClick={() => drafting.rebase(version, valueAt)}
          >
            Go on with the config of now
          </button>
        </div>
      )}
      <ul className="list">
        {draft.changes.map((change) => (
          <li key={JSON.stringify(change.path)}>
            <Typed change={change} now={valueAt(change.path)} drafting={drafting} />
          </li>
        ))}
      </ul>
      <div aria-live="polite" aria-busy={checked.isFetching || undefined}>
        {edits === undefined && <p className="faint">Type a value to see what it would do.</p>}
        {checked.error && <Trouble error={checked.error} what="This cannot be applied" />}
        {checked.data && (
          <>
            <p>The gateway has checked it. It would change:</p>
            <PlanText plan={checked.data} />
          </>
        )}
      </div>
      {error && <Trouble error={error} what="Not applied" />}
      <footer className="row">
        <button
          type="button"
          className="primary"
          data-route={APPLY}
          aria-disabled={isOff || undefined}
          aria-busy={isBusy || undefined}
          title={right.reason}
          onClick={() => !isOff && !isBusy && apply()}
        >
          Apply
        </button>
        {right.reason !== undefined && <span className="note">{right.reason}</span>}
      </footer>
    </Section>
  );
}

/** What the gateway says about changes, asked for again when they, or the config, are others. */
function useChecked(edits: readonly object[] | undefined, version: string) {
  const text = JSON.stringify(edits ?? []);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const query = useQuery<ReloadAnswer, RequestFailure>({
    queryKey: [CHECK, settled, version],
    queryFn: ({ signal }) =>
      ask(CHECK, { body: { edits: JSON.parse(settled) as unknown }, signal }),
    enabled: edits !== undefined && settled === text,
    retry: false,
    // What was typed may be a secret.
    gcTime: 0,
  });
  const isCurrent = edits !== undefined && settled === text;
  return {
    data: isCurrent && !query.error ? query.data : undefined,
    error: isCurrent ? query.error : null,
    isFetching: query.isFetching || settled !== text,
  };
}

function useApply(
  draft: Draft,
  onApplied: () => void,
): { readonly apply: () => void; readonly isBusy: boolean; readonly error: RequestFailure | null } {
  const notify = useNotify();
  const request = () => ({
    body: { edits: editsOf(draft) },
    headers: { "if-match": `"${draft.version}"` },
  });
  const { mutate, isPending, error } = useChange<ReloadAnswer>(APPLY, request, {
    onSuccess: ({ restartRequired }) => {
      onApplied();
      const rest =
        restartRequired.length === 0 ? "" : ` After a restart: ${restartRequired.join(", ")}.`;
      notify(`The config is applied.${rest}`);
    },
  });
  return { apply: () => mutate(), isBusy: isPending, error };
}

/** One change: what is in force, and what comes in its place. */
function Typed(props: {
  readonly change: Change;
  readonly now: unknown;
  readonly drafting: ReturnType<typeof useDraft>;
}): ReactNode {
  const { change, now, drafting } = props;
  const { path, text, before } = change;
  const name = path.join(".");
  return (
    <div className="fields grow">
      <strong>
        <Words>{name}</Words>
      </strong>
      <p>
        <Was value={before} />
        {" → "}
        {text === undefined ? "removed" : <Becomes text={text} />}
      </p>
      {JSON.stringify(before) !== JSON.stringify(now) && (
        <p className="note">
          In force now: <Was value={now} />
        </p>
      )}
      {text !== undefined && (
        <textarea
          className="code"
          data-effect="field"
          aria-label={`New value of ${name}`}
          placeholder="a text, or JSON"
          rows={Math.min(12, text.split("\n").length)}
          spellCheck={false}
          value={text}
          onChange={({ target }) => drafting.type(path, target.value)}
        />
      )}
      <div className="row">
        <label className="row">
          <input
            type="checkbox"
            data-effect="field"
            checked={text === undefined}
            onChange={() => drafting.type(path, text === undefined ? "" : undefined)}
          />
          Remove it from the file
        </label>
        <button
          type="button"
          className="quiet"
          data-effect="field"
          aria-label={`Take back ${name}`}
          onClick={() => drafting.undo(path)}
        >
          Take back
        </button>
      </div>
    </div>
  );
}

function Was({ value }: { readonly value: unknown }): ReactNode {
  if (value === undefined) return <span className="faint">nothing</span>;
  return (
    <del>
      <code>
        <Words>{JSON.stringify(value)}</Words>
      </code>
    </del>
  );
}

function Becomes({ text }: { readonly text: string }): ReactNode {
  if (text.trim() === "") return <span className="faint">nothing typed yet</span>;
  return (
    <ins>
      <code>
        <Words>{JSON.stringify(toValue(text))}</Words>
      </code>
    </ins>
  );
}
