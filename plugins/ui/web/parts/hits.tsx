import type { ReactNode } from "react";
import type { RunningRow } from "../model.ts";
import { Words } from "./text.tsx";
import { useAsk } from "../query.ts";
import { countOf } from "../kit/words.ts";

/** Names that are shown; the others are counted. */
const MAX_NAMES = 20;
/** Running calls that are looked at. */
const MAX_CALLS = 1_000;

/** Whom a change hits, said before it is made. */
export function Hits(props: {
  /** A sentence: what happens. */
  readonly children: ReactNode;
  /** To whom, one by one. */
  readonly names?: readonly string[];
  /** Whose calls are hit while they run: `user:ada`. */
  readonly principals?: readonly string[];
}): ReactNode {
  const { names = [], principals = [] } = props;
  return (
    <div className="note" role="status">
      <p>{props.children}</p>
      {names.length > 0 && (
        <ul>
          {names.slice(0, MAX_NAMES).map((name) => (
            <li key={name}>
              <Words>{name}</Words>
            </li>
          ))}
          {names.length > MAX_NAMES && <li>{names.length - MAX_NAMES} more</li>}
        </ul>
      )}
      {principals.length > 0 && <Running principals={principals} />}
    </div>
  );
}

/** What somebody loses and gains by a change of the libraries that they see. */
export function Difference(props: {
  readonly who: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly principals?: readonly string[];
}): ReactNode {
  const { who, before, after, principals = [] } = props;
  const lost = before.filter((uid) => !after.includes(uid)).map((uid) => `loses ${uid}`);
  const won = after.filter((uid) => !before.includes(uid)).map((uid) => `sees ${uid}`);
  return (
    <Hits names={[...lost, ...won]} principals={principals}>
      {lost.length + won.length === 0 ? `${who} sees what it saw.` : who}
    </Hits>
  );
}

/** A list that is filled in; none before. */
export function toNames(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

function Running({ principals }: { readonly principals: readonly string[] }): ReactNode {
  const { data } = useAsk<{ calls: readonly RunningRow[] }>("GET /_meta/calls", {
    limit: MAX_CALLS,
  });
  if (!data) return null;
  const running = data.calls.filter(({ principal }) => principals.includes(principal)).length;
  return (
    <p>
      {running === 0
        ? "No call of theirs runs now."
        : `${countOf(running, "call")} of theirs running now.`}
    </p>
  );
}
