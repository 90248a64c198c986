import { useRef, useState, type ReactNode } from "react";
import { useEvents, useLiveState } from "../live.tsx";
import { rightTo, useAbout } from "../about.tsx";
import { matches } from "../model.ts";
import { Badge, type Tone } from "../parts/badge.tsx";
import { Moment } from "../parts/moment.tsx";
import { Empty, Page } from "../parts/page.tsx";
import { Choice, Search } from "../parts/search.tsx";
import { Words } from "../parts/text.tsx";
import { useUrlState } from "../kit/url-state.ts";
import { toText } from "../kit/words.ts";

/** Lines that are kept on the page; the oldest go first. */
const MAX_LINES = 1_000;
/** Lines of a burst come together, this often. */
const FLUSH_MS = 200;

interface Line {
  readonly id: number;
  readonly at: string;
  readonly level: string;
  readonly plugin: string;
  readonly message: string;
  readonly rest: string;
}

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

/** The log as it is written, from now on. */
export function LogsPage(): ReactNode {
  const about = useAbout();
  const isOperator = rightTo(about, "GET /_meta/config/effective").reason === undefined;
  return (
    <Page title="Logs">
      {isOperator ? (
        <Tail />
      ) : (
        <Empty>Log lines are for the role operator. Sign in with a key that has it.</Empty>
      )}
    </Page>
  );
}

function Tail(): ReactNode {
  const [level, setLevel] = useUrlState("level");
  const [search, setSearch] = useUrlState("q");
  const [isPaused, setPaused] = useState(false);
  const { lines, missed, clear } = useLines(level || "info", isPaused);
  const live = useLiveState();
  const shown = lines.filter((line) => matches(search, line.message, line.plugin, line.rest));
  return (
    <>
      <div className="row tools">
        <Choice
          label="Least level"
          value={level}
          onChange={setLevel}
          options={[
            ["", "info and above"],
            ...LEVELS.filter((name) => name !== "info").map(
              (name) => [name, `${name} and above`] as const,
            ),
          ]}
        />
        <Search value={search} onChange={setSearch} label="Search lines" />
        <button
          type="button"
          data-effect="pause"
          aria-pressed={isPaused}
          onClick={() => setPaused(!isPaused)}
        >
          {isPaused ? "Go on" : "Pause"}
        </button>
        {lines.length > 0 && (
          <button type="button" className="quiet" data-effect="clear" onClick={clear}>
            Clear
          </button>
        )}
        <span className="faint" role="status">
          {shown.length} lines{isPaused && missed > 0 ? `, ${missed} since the pause` : ""}
        </span>
      </div>
      {shown.length === 0 ? (
        <Empty>
          {live.kind === "live"
            ? "No line yet: lines appear as they are written."
            : "There is no connection, so no line can come."}
        </Empty>
      ) : (
        <ol className="log" reversed aria-label="Log lines" tabIndex={0}>
          {shown.map((line) => (
            <li key={line.id}>
              <Moment at={line.at} />
              <Badge tone={toneOf(line.level)}>{line.level}</Badge>
              <span className="faint">
                <Words>{line.plugin}</Words>
              </span>
              <span className="grow">
                <Words>{line.message}</Words>
                {line.rest !== "" && (
                  <code className="faint">
                    {" "}
                    <Words>{line.rest}</Words>
                  </code>
                )}
              </span>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

function toneOf(level: string): Tone {
  if (level === "error" || level === "fatal") return "error";
  if (level === "warn") return "degraded";
  return level === "info" ? "ok" : "off";
}

/** The newest lines, newest first. While it is paused they are counted. */
function useLines(
  level: string,
  isPaused: boolean,
): { readonly lines: readonly Line[]; readonly missed: number; readonly clear: () => void } {
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [missed, setMissed] = useState(0);
  const waiting = useRef<Line[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const count = useRef(0);
  useEvents(
    (kind, data) => {
      if (kind !== "log") return;
      if (isPaused) return setMissed((before) => before + 1);
      waiting.current.push(toLine(++count.current, data));
      timer.current ??= setTimeout(() => {
        const news = waiting.current.toReversed();
        waiting.current = [];
        timer.current = undefined;
        setLines((before) => [...news, ...before].slice(0, MAX_LINES));
        setMissed(0);
      }, FLUSH_MS);
    },
    { kinds: "log", level },
  );
  return { lines, missed, clear: () => setLines([]) };
}

function toLine(id: number, data: Readonly<Record<string, unknown>>): Line {
  const {
    level,
    ts: _,
    msg,
    plugin,
    pid: _pid,
    hostname: _host,
    ...rest
  } = (data["line"] ?? {}) as Readonly<Record<string, unknown>>;
  return {
    id,
    at: toText(data["at"]),
    level: typeof level === "number" ? (LEVELS[level / 10 - 1] ?? "info") : toText(level) || "info",
    plugin: toText(plugin),
    message: toText(msg),
    rest: Object.keys(rest).length === 0 ? "" : JSON.stringify(rest),
  };
}
