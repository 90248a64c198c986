import { useState, type ReactNode } from "react";
import { rightTo, useAbout } from "../about.tsx";
import { useLiveState } from "../live.tsx";
import { matches } from "../model.ts";
import { Empty, Page } from "../parts/page.tsx";
import { Choice, Search } from "../parts/search.tsx";
import { Trouble } from "../parts/trouble.tsx";
import { useUrlState } from "../kit/url-state.ts";
import { countOf } from "../kit/words.ts";
import { LEVELS, type Line } from "./logs/line.ts";
import { LineList } from "./logs/list.tsx";
import { useLines, type Lines } from "./logs/use-lines.ts";

/** The log: its last lines, and what is written from now on. */
export default function LogsPage(): ReactNode {
  const right = rightTo(useAbout(), "GET /_meta/logs");
  return (
    <Page title="Logs">
      {right.reason === undefined ? (
        <Tail />
      ) : (
        <Empty>Log lines are for the role operator. Sign in with a key that has it.</Empty>
      )}
    </Page>
  );
}

function Tail(): ReactNode {
  const [level, setLevel] = useUrlState("level");
  const [server, setServer] = useUrlState("server");
  const [search, setSearch] = useUrlState("q");
  const [isPaused, setPaused] = useState(false);
  const [isFollowing, setFollowing] = useState(true);
  const found = useLines(level || "info", isPaused);
  const shown = found.lines.filter((line) => isSought(line, search, server));
  return (
    <>
      <div className="row tools">
        <LevelChoice level={level} onChange={setLevel} />
        <ServerChoice lines={found.lines} server={server} onChange={setServer} />
        <Search value={search} onChange={setSearch} label="Search lines" />
        <button
          type="button"
          data-effect="follow"
          aria-pressed={isFollowing}
          onClick={() => setFollowing(!isFollowing)}
        >
          Follow
        </button>
        <button
          type="button"
          data-effect="pause"
          aria-pressed={isPaused}
          onClick={() => setPaused(!isPaused)}
        >
          Pause
        </button>
        {found.lines.length > 0 && (
          <button type="button" className="quiet" data-effect="clear" onClick={found.clear}>
            Clear
          </button>
        )}
        <span className="faint" role="status">
          {countOf(shown.length, "line")}
          {isPaused && `, ${found.waiting} new since the pause`}
        </span>
      </div>
      <Problems {...found} />
      {shown.length === 0 ? (
        <Nothing found={found} />
      ) : (
        <LineList lines={shown} isFollowing={isFollowing} onFollow={setFollowing} />
      )}
    </>
  );
}

function isSought(line: Line, search: string, server: string): boolean {
  if (server !== "" && line.server !== server) return false;
  const { plugin, what, why, tool, who, key } = line;
  return matches(search, plugin, what, why, line.server, tool, who, line.end?.word, key);
}

function LevelChoice(props: {
  readonly level: string;
  readonly onChange: (level: string) => void;
}): ReactNode {
  const others = LEVELS.filter((name) => name !== "info");
  return (
    <Choice
      label="Least level"
      value={props.level}
      onChange={props.onChange}
      options={[
        ["", "info and above"],
        ...others.map((name) => [name, `${name} and above`] as const),
      ]}
    />
  );
}

/** The servers that lines name. */
function ServerChoice(props: {
  readonly lines: readonly Line[];
  readonly server: string;
  readonly onChange: (server: string) => void;
}): ReactNode {
  const names = new Set([props.server, ...props.lines.map(({ server }) => server)]);
  names.delete("");
  if (names.size === 0) return null;
  return (
    <Choice
      label="Server"
      value={props.server}
      onChange={props.onChange}
      options={[["", "All servers"], ...[...names].toSorted().map((name) => [name, name] as const)]}
    />
  );
}

function Problems({ query }: Lines): ReactNode {
  const missing = query.data?.missing ?? [];
  return (
    <>
      {query.error && (
        <Trouble error={query.error} what="The last lines" onRetry={() => void query.refetch()} />
      )}
      {missing.length > 0 && (
        <p className="faint">
          {countOf(missing.length, "replica")} did not answer: the lines it wrote are not here.
        </p>
      )}
    </>
  );
}

/** Why there is no line. */
function Nothing({ found: { query, lines } }: { readonly found: Lines }): ReactNode {
  const isLive = useLiveState().kind === "live";
  if (query.isPending)
    return (
      <p className="faint" aria-busy="true">
        Loading …
      </p>
    );
  if (lines.length > 0) return <Empty>No matching lines.</Empty>;
  return (
    <Empty>{isLive ? "No lines yet. They appear here as they are written." : "No lines."}</Empty>
  );
}
