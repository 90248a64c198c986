import type { ReactNode } from "react";
import { Link, useParams } from "wouter";
import { rightTo, useAbout, type About } from "../about.tsx";
import { matches, verdictOf, type ServerRow, type ToolRow } from "../model.ts";
import { Toggle } from "../parts/act.tsx";
import { Badge } from "../parts/badge.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Countdown, Moment } from "../parts/moment.tsx";
import { Empty, Page } from "../parts/page.tsx";
import { Search } from "../parts/search.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { Passage, Words } from "../parts/text.tsx";
import { PanelsAt } from "../panels/panels.tsx";
import { useAsk } from "../query.ts";
import type { Route } from "../request.ts";
import { useUrlState } from "../url-state.ts";
import { countOf, formatJson, formatSpan } from "../words.ts";
import { ServerActions } from "./servers.tsx";

const TOOL_ON: Route = "POST /_meta/servers/:server/tools/:tool/enable";
const TOOL_OFF: Route = "POST /_meta/servers/:server/tools/:tool/disable";
const STDERR: Route = "GET /_meta/servers/:server/stderr";

/** One server: what it offers, how it is reached, what it said last. */
export function ServerPage(): ReactNode {
  const server = useParams()["server"]!;
  const query = useAsk<{ server: ServerRow }>("GET /_meta/servers/:server", { server });
  const row = query.data?.server;
  const verdict = row && verdictOf(row);
  return (
    <Page
      title={server}
      above={<Link href="/servers">Servers</Link>}
      badge={verdict && <Badge tone={verdict.tone}>{verdict.word}</Badge>}
      actions={
        row && (
          <>
            <Toggle
              on={row.enabled}
              name={row.name}
              enable="POST /_meta/servers/:server/enable"
              disable="POST /_meta/servers/:server/disable"
              params={{ server }}
            />
            <ServerActions row={row} />
          </>
        )
      }
    >
      <Loaded query={query} what={`The server ${server}`}>
        {(data) => <Details row={data.server} />}
      </Loaded>
    </Page>
  );
}

function Details({ row }: { readonly row: ServerRow }): ReactNode {
  const about = useAbout();
  const [chosen] = useUrlState("view");
  const tabs = tabsOf(row, about);
  const view = tabs.find(([id]) => id === chosen)?.[0] ?? "tools";
  return (
    <>
      <Facts row={row} />
      <Tabs tabs={tabs} current={view} path={`/servers/${encodeURIComponent(row.name)}`} />
      {view === "tools" && <Tools server={row.name} />}
      {view === "resources" && <Resources server={row.name} />}
      {view === "prompts" && <Prompts server={row.name} />}
      {view === "config" && <Passage text={formatJson(row.config)} label="Entry in the config" />}
      {view === "stderr" && <Stderr server={row.name} />}
      <PanelsAt place="servers/detail" server={row.name} />
    </>
  );
}

/** What there is to see of a server, for this visitor. */
function tabsOf(
  row: ServerRow,
  about: About,
): readonly (readonly [id: string, title: string, count?: number])[] {
  const has = (route: Route): boolean => {
    const right = rightTo(about, route);
    return right.isThere && right.reason === undefined;
  };
  return [
    ["tools", "Tools", row.tools.total],
    ...(has(RESOURCES) ? ([["resources", "Resources", row.resources]] as const) : []),
    ...(has(PROMPTS) ? ([["prompts", "Prompts", row.prompts]] as const) : []),
    ...(row.config == null ? [] : ([["config", "Config"]] as const)),
    ...(has(STDERR) && row.transport === "stdio" ? ([["stderr", "Standard error"]] as const) : []),
  ];
}

function Facts({ row }: { readonly row: ServerRow }): ReactNode {
  const { breaker, health, serverInfo } = row;
  const { reason } = verdictOf(row);
  return (
    <dl className="facts">
      {reason !== undefined && (
        <div className="wide">
          <dt>Why</dt>
          <dd>
            <Words>{reason}</Words>
            {row.nextRetryAt !== null && (
              <>
                {" "}
                Next attempt <Countdown to={row.nextRetryAt} />.
              </>
            )}
          </dd>
        </div>
      )}
      <div>
        <dt>In this state since</dt>
        <dd>
          <Moment at={row.since} />
        </dd>
      </div>
      <div>
        <dt>Transport</dt>
        <dd>
          {row.transport}
          {row.protocolVersion !== null && `, MCP ${row.protocolVersion}`}
          {row.pid !== null && `, process ${row.pid}`}
        </dd>
      </div>
      {serverInfo?.name !== undefined && (
        <div>
          <dt>Program</dt>
          <dd>
            <Words>{`${serverInfo.name} ${serverInfo.version ?? ""}`}</Words>
          </dd>
        </div>
      )}
      {breaker && (
        <div>
          <dt>Circuit</dt>
          <dd>
            {breaker.state}
            {breaker.failures > 0 && `, ${countOf(breaker.failures, "failure")} in a row`}
            {breaker.retryAt !== undefined && (
              <>
                , tried again <Countdown to={breaker.retryAt} />
              </>
            )}
          </dd>
        </div>
      )}
      {health && (
        <div>
          <dt>Last probe</dt>
          <dd>
            {health.reachable ? "answered" : "no answer"}
            {health.latency !== undefined && ` in ${formatSpan(health.latency)}`},{" "}
            <Moment at={health.checkedAt} />
          </dd>
        </div>
      )}
      {row.attempts > 0 && (
        <div>
          <dt>Failed attempts in a row</dt>
          <dd>{row.attempts}</dd>
        </div>
      )}
    </dl>
  );
}

function Tools({ server }: { readonly server: string }): ReactNode {
  const query = useAsk<{ tools: readonly ToolRow[] }>("GET /_meta/servers/:server/tools", {
    server,
  });
  const [search, setSearch] = useUrlState("q");
  return (
    <Loaded query={query} what="The list of tools">
      {({ tools }) => {
        const shown = tools.filter((tool) =>
          matches(search, tool.name, tool.title, tool.description),
        );
        if (tools.length === 0) return <Empty>It offers no tools.</Empty>;
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
            <ul className="cards">
              {shown.map((tool) => (
                <ToolCard key={tool.name} server={server} tool={tool} />
              ))}
            </ul>
          </>
        );
      }}
    </Loaded>
  );
}

const HINTS: Readonly<Record<string, string>> = {
  readOnlyHint: "reads only",
  destructiveHint: "may destroy",
  idempotentHint: "repeatable",
  openWorldHint: "reaches out",
};

function ToolCard(props: { readonly server: string; readonly tool: ToolRow }): ReactNode {
  const { server, tool } = props;
  const canTry = rightTo(useAbout(), "POST /_meta/calls").isThere;
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
        <details data-effect="schema">
          <summary>Schema</summary>
          <Passage text={formatJson(tool.inputSchema)} label={`Input schema of ${tool.name}`} />
          {tool.outputSchema !== null && (
            <Passage text={formatJson(tool.outputSchema)} label={`Output schema of ${tool.name}`} />
          )}
        </details>
      </div>
    </li>
  );
}

const RESOURCES: Route = "GET /_meta/servers/:server/resources";
const PROMPTS: Route = "GET /_meta/servers/:server/prompts";

interface ResourceRow {
  readonly uri: string;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly mimeType: string | null;
  readonly isTemplate: boolean;
}

function Resources({ server }: { readonly server: string }): ReactNode {
  const query = useAsk<{ resources: readonly ResourceRow[] }>(RESOURCES, { server });
  const [search, setSearch] = useUrlState("q");
  return (
    <Loaded query={query} what="The list of resources">
      {({ resources }) => {
        if (resources.length === 0) return <Empty>It offers no resources.</Empty>;
        const shown = resources.filter((one) => matches(search, one.uri, one.name, one.title));
        return (
          <>
            <div className="row tools">
              <Search value={search} onChange={setSearch} label="Search resources" />
            </div>
            <div className="scroll" tabIndex={0} role="region" aria-label="Resources">
              <table>
                <thead>
                  <tr>
                    <th>Name</th>
                    <th>Address</th>
                    <th>Type</th>
                    <th>What it is</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map((one) => (
                    <tr key={`${one.name} ${one.uri}`}>
                      <th scope="row">
                        <Words>{one.title ?? one.name}</Words>
                      </th>
                      <td>
                        <code>
                          <Words>{one.uri}</Words>
                        </code>
                        {one.isTemplate && <span className="tag">template</span>}
                      </td>
                      <td>
                        <Words>{one.mimeType ?? "–"}</Words>
                      </td>
                      <td>
                        <Words>{one.description}</Words>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        );
      }}
    </Loaded>
  );
}

interface PromptRow {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly arguments: readonly { readonly name: string; readonly required?: boolean }[];
}

function Prompts({ server }: { readonly server: string }): ReactNode {
  const query = useAsk<{ prompts: readonly PromptRow[] }>(PROMPTS, { server });
  return (
    <Loaded query={query} what="The list of prompts">
      {({ prompts }) =>
        prompts.length === 0 ? (
          <Empty>It offers no prompts.</Empty>
        ) : (
          <ul className="cards">
            {prompts.map((prompt) => (
              <li key={prompt.name} className="card">
                <h2>
                  <Words>{prompt.name}</Words>
                </h2>
                <p className="about">
                  <Words>{prompt.description}</Words>
                </p>
                <p className="row">
                  {prompt.arguments.map(({ name, required }) => (
                    <span key={name} className="tag">
                      <Words>{name}</Words>
                      {required === true ? "" : " (optional)"}
                    </span>
                  ))}
                </p>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}

function Stderr({ server }: { readonly server: string }): ReactNode {
  const query = useAsk<{ lines: readonly string[] }>(
    STDERR,
    { server, lines: 200 },
    { every: 2_000 },
  );
  return (
    <Loaded query={query} what="What it wrote to standard error">
      {({ lines }) =>
        lines.length === 0 ? (
          <Empty>It wrote nothing to standard error.</Empty>
        ) : (
          <Passage text={lines.join("\n")} label="Standard error" />
        )
      }
    </Loaded>
  );
}
