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
