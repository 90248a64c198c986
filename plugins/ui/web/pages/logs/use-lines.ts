import { useEffect, useMemo, useRef, useState } from "react";
import type { LogView } from "propylon/plugins/events";
import { useEvents } from "../../live.tsx";
import { useAsk } from "../../query.ts";
import { isAtLeast, toLine, type Line } from "./line.ts";

/** Lines that the page asks for when it opens. */
const TAIL = 500;
/** Lines that are kept on the page; the oldest go first. */
const MAX_LINES = 1_000;
/** Lines of a burst come together, this often. */
const FLUSH_MS = 200;

/** The log from before the page was opened, and what is written since. */
export interface Lines {
  readonly query: ReturnType<typeof useAsk<LogView>>;
  /** Oldest first. */
  readonly lines: readonly Line[];
  /** How many came since the pause. */
  readonly waiting: number;
  readonly clear: () => void;
}

/** The newest lines. While it is paused they are kept aside, and counted. */
export function useLines(level: string, isPaused: boolean): Lines {
  const query = useAsk<LogView>("GET /_meta/logs", { limit: TAIL, level }, { isKept: true });
  const { news, waiting } = useNews(level, isPaused);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const tail = useFrozen(query.data, isPaused);
  const all = useMemo(
    () =>
      merge(
        (tail?.lines ?? []).map((row) => toLine(row)),
        news,
      ),
    [tail, news],
  );
  const lines = useMemo(
    () => all.filter((line) => !hidden.has(line.key) && isAtLeast(line, level)),
    [all, hidden, level],
  );
  const clear = (): void => setHidden(new Set(all.map(({ key }) => key)));
  return { query, lines, waiting, clear };
}

/** What is written while the page is open. */
function useNews(
  level: string,
  isPaused: boolean,
): { readonly news: readonly Line[]; readonly waiting: number } {
  const [news, setNews] = useState<readonly Line[]>([]);
  const [waiting, setWaiting] = useState(0);
  const aside = useRef<Line[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const paused = useRef(isPaused);
  const flush = (): void => {
    timer.current = undefined;
    if (paused.current) return setWaiting(aside.current.length);
    const come = aside.current;
    aside.current = [];
    setWaiting(0);
    setNews((before) => [...before, ...come].slice(-MAX_LINES));
  };
  useEffect(() => {
    paused.current = isPaused;
    if (!isPaused && aside.current.length > 0) flush();
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  useEvents(
    (kind, { at, replica, line }) => {
      if (kind !== "log" || typeof line !== "object" || line === null) return;
      const row = { line: line as Line["fields"], ...(typeof replica === "string" && { replica }) };
      aside.current.push(toLine(row, at));
      if (aside.current.length > MAX_LINES) aside.current.shift();
      timer.current ??= setTimeout(flush, FLUSH_MS);
    },
    { kinds: "log", level },
  );
  return { news, waiting };
}

/** A value as it was when something stopped. */
function useFrozen<T>(value: T, isFrozen: boolean): T {
  const [kept, setKept] = useState(value);
  if (!isFrozen && kept !== value) setKept(value);
  return isFrozen ? kept : value;
}

/** Both in the order of their times, each line once. */
function merge(tail: readonly Line[], news: readonly Line[]): readonly Line[] {
  const byKey = new Map([...tail, ...news].map((line) => [line.key, line]));
  return [...byKey.values()]
    .toSorted((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)))
    .slice(-MAX_LINES);
}
