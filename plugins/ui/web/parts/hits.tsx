import type { PanelNotice } from "propylon/panels";
import { useEffect, useState, type ReactNode } from "react";
import { useRight } from "../about.tsx";
import type { RunningRow } from "../model.ts";
import { Trouble } from "./trouble.tsx";
import { Words } from "./text.tsx";
import { useAsk, useIntervalWithout } from "../query.ts";
import { writeJson } from "../kit/json.ts";
import { countOf } from "../kit/words.ts";
import { addressOf, type Params, type Route } from "../request.ts";

/** Names that are shown; the others are counted. */
const MAX_NAMES = 20;
/** Running calls that are looked at. */
const MAX_CALLS = 1_000;
/** Characters of an address that every proxy lets through. */
const MAX_ADDRESS = 8_000;
/** Keys that are typed within this are one question. */
const PAUSE_MS = 250;

/** The route that answers whom a request hits. */
export interface HitsRoute {
  readonly route: Route;
  readonly params?: Params | undefined;
  /** Kind of events after which it is asked again. */
  readonly live?: string | undefined;
}

/** What is known of whom a request hits. */
interface KnownHits {
  readonly content: ReactNode;
  /** Whether the visitor was told enough to send the request. */
  readonly isTold: boolean;
  /** Why nobody can be asked, as a sentence. */
  readonly unasked?: string | undefined;
}

/** Whom a request hits now, with what is filled in. Until that is known it is not sent, unless a sentence asks first. */
export function useHits(
  of: HitsRoute | undefined,
  value: unknown,
  hasSentence: boolean,
): KnownHits {
  const { route = "GET /", live = "" } = of ?? {};
  const text = value === undefined ? undefined : writeJson(value);
  const settled = useSettled(text);
  const params = { ...of?.params, ...(settled !== undefined && { value: settled }) };
  const unasked = useUnasked(route, params);
  const { data, error, isPlaceholderData, refetch } = useAsk<PanelNotice>(route, params, {
    live,
    every: useIntervalWithout(live),
    enabled: of !== undefined && unasked === undefined,
    isKept: true,
    panel: true,
  });
  if (!of) return { content: null, isTold: true };
  const isSettled = text === settled;
  if (unasked !== undefined) return { content: <Hits>{unasked}</Hits>, isTold: isSettled, unasked };
  if (error)
    return {
      content: <Trouble error={error} what="Whom it hits" onRetry={() => void refetch()} />,
      isTold: isSettled && hasSentence,
    };
  const isTold = isSettled && data !== undefined && !isPlaceholderData;
  return { content: <Answer notice={data} isOld={!isTold} />, isTold };
}

/** Why a route cannot be asked, as a sentence. */
function useUnasked(route: Route, params: Params): string | undefined {
  const { reason } = useRight(route);
  if (reason !== undefined) return `Whom it hits is not shown to you. ${reason}`;
  if (addressOf(route, params).href.length <= MAX_ADDRESS) return undefined;
  return "What is filled in is too long to ask whom it hits.";
}

function Answer(props: {
  readonly notice: PanelNotice | undefined;
  readonly isOld: boolean;
}): ReactNode {
  const { notice, isOld } = props;
  const { about = [], principals = [] } = notice ?? {};
  return (
    <>
      {isOld && (
        <p className="note" role="status" aria-busy="true">
          Asking whom it hits …{notice && " What was filled in before:"}
        </p>
      )}
      {about.map(({ text, names = [] }, at) => (
        <Hits key={text} names={names} principals={at === about.length - 1 ? principals : []}>
          <Words>{text}</Words>
        </Hits>
      ))}
    </>
  );
}

/** A text once nobody has changed it for a moment. */
function useSettled(text: string | undefined): string | undefined {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** Whom a change hits, said before it is made. */
function Hits(props: {
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
