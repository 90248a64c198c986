import { memo, useDeferredValue, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { rightTo, useAbout } from "../../about.tsx";
import { matches, type ToolRow } from "../../model.ts";
import { Toggle } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Empty } from "../../parts/page.tsx";
import { Search } from "../../parts/search.tsx";
import { Passage, Words } from "../../parts/text.tsx";
import { useAsk } from "../../query.ts";
import type { Route } from "../../request.ts";
import { useUrlState } from "../../kit/url-state.ts";
import { countOf, formatJson } from "../../kit/words.ts";

const TOOL_ON: Route = "POST /_meta/servers/:server/tools/:tool/enable";
const TOOL_OFF: Route = "POST /_meta/servers/:server/tools/:tool/disable";

/** The tools of a server, each with its switch and its schema. */
export function Tools({ server }: { readonly server: string }): ReactNode {
  const query = useAsk<{ tools: readonly ToolRow[] }>("GET /_meta/servers/:server/tools", {
    server,
  });
  const [search, setSearch] = useUrlState("q");
  // The letter is there at once; the list follows it.
  const sought = useDeferredValue(search);
  return (
    <Loaded query={query} what="The list of tools">
      {({ tools }) => {
        if (tools.length === 0) return <Empty>It offers no tools.</Empty>;
        const shown = tools.filter((tool) =>
          matches(sought, tool.name, tool.title, tool.description),
        );
        return (
          <>
            <div className="row tools">
              <Search value={search} onChange={setSearch} label="Search tools" />
              <span className="faint" role="status">
                {shown.length === tools.length
                  ? countOf(tools.length, "tool")
                  : `${shown.length} of ${countOf(tools.length, "tool")}`}
              </span>
            </div>
            <ToolCards server={server} tools={shown} />
          </>
        );
      }}
    </Loaded>
  );
}

/** As many as a screen has; the others are drawn while one reads. */
const FIRST_CARDS = 40;

function ToolCards(props: {
  readonly server: string;
  readonly tools: readonly ToolRow[];
}): ReactNode {
  const { server, tools } = props;
  const drawn = useDeferredValue(tools, tools.slice(0, FIRST_CARDS));
  const canTry = rightTo(useAbout(), "POST /_meta/calls").isThere;
  return (
    <ul className="cards" aria-busy={drawn !== tools || undefined}>
      {drawn.map((tool) => (
        <ToolCard key={tool.name} server={server} tool={tool} canTry={canTry} />
      ))}
    </ul>
  );
}

const HINTS: Readonly<Record<string, string>> = {
  readOnlyHint: "reads only",
  destructiveHint: "may destroy",
  idempotentHint: "repeatable",
  openWorldHint: "reaches out",
};

const ToolCard = memo(function ToolCard(props: {
  readonly server: string;
  readonly tool: ToolRow;
  readonly canTry: boolean;
}): ReactNode {
  const { server, tool, canTry } = props;
  const hints = Object.entries(HINTS).filter(([hint]) => tool.annotations?.[hint] === true);
  return (
    <li className="card" data-tool={tool.name}>
      <header className="row between">
        <h2 className="row">
          <Toggle
            on={tool.enabled}
            name={tool.name}
            enable={TOOL_ON}
            disable={TOOL_OFF}
            params={{ server, tool: tool.name }}
          />
          <span>
            <Words>{tool.name}</Words>
            {tool.title !== null && tool.title !== tool.name && (
              <span className="faint">
                {" "}
                <Words>{tool.title}</Words>
              </span>
            )}
          </span>
        </h2>
        {canTry && (
          <Link
            className="button"
            href={`/try/${encodeURIComponent(server)}/${encodeURIComponent(tool.name)}`}
            aria-label={`Try ${tool.name}`}
          >
            Try
          </Link>
        )}
      </header>
      {tool.description !== null && (
        <p className="about">
          <Words>{tool.description}</Words>
        </p>
      )}
      <div className="row faint">
        {!tool.available && tool.enabled && <Badge tone="off">its server is off</Badge>}
        {hints.map(([hint, word]) => (
          <span key={hint} className="tag">
            {word}
          </span>
        ))}
        <Schemas tool={tool} />
      </div>
    </li>
  );
});

/** Written out when somebody wants to see them: a server may have a thousand. */
function Schemas({ tool }: { readonly tool: ToolRow }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details data-effect="schema" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Schema</summary>
      {isOpen && (
        <>
          <Passage text={formatJson(tool.inputSchema)} label={`Input schema of ${tool.name}`} />
          {tool.outputSchema !== null && (
            <Passage text={formatJson(tool.outputSchema)} label={`Output schema of ${tool.name}`} />
          )}
        </>
      )}
    </details>
  );
}
