import type { ReactNode } from "react";
import { Link } from "wouter";
import { rightTo, useAbout } from "../about.tsx";
import { useWish } from "../live.tsx";
import { outcomeOf, type CallRow, type RunningRow, type ServerRow } from "../model.ts";
import { addressOf, type Params } from "../request.ts";
import { Act } from "../parts/act.tsx";
import { Badge } from "../parts/badge.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Moment } from "../parts/moment.tsx";
import { Empty, Page, Section } from "../parts/page.tsx";
import { Choice, Search } from "../parts/search.tsx";
import { Passage, Words } from "../parts/text.tsx";
import { useAsk } from "../query.ts";
import { useUrlState } from "../url-state.ts";
import { formatJson, formatSize, formatSpan } from "../words.ts";

/** Calls that run and calls that ended, newest first. */
export function ActivityPage(): ReactNode {
  const [server, setServer] = useUrlState("server");
  const [tool, setTool] = useUrlState("tool");
  const [caller, setCaller] = useUrlState("caller");
  const [outcome, setOutcome] = useUrlState("outcome");
  const [cursor, setCursor] = useUrlState("before");
  const [open, setOpen] = useUrlState("call");
  const filter: Params = { server, tool, principal: caller, outcome };
  const query = useAsk<{ entries: readonly CallRow[]; next: string | null }>(
    "GET /_meta/history",
    { ...filter, limit: 100, brief: 1, cursor },
    { every: 3_000 },
  );
  useWish({ kinds: "call_end" });
  const servers = useAsk<{ servers: readonly ServerRow[] }>("GET /_meta/servers");
  const change =
    (set: (value: string) => void) =>
    (value: string): void =>
      set(value);
  return (
    <Page
      title="Activity"
      actions={
        <>
          <a
            className="button"
            data-route="GET /_meta/history/export"
            href={addressOf("GET /_meta/history/export", filter).href}
            download="history.jsonl"
          >
            Export
          </a>
          <Act
            route="DELETE /_meta/history"
            what="Forget all calls"
            tone="danger"
            confirm="The list of calls is emptied, for everybody and for good."
            done="The history is empty."
          >
            Forget all
          </Act>
        </>
      }
    >
      <div className="row tools">
        <Choice
          label="Server"
          value={server}
          onChange={change(setServer)}
          options={[
            ["", "every server"],
            ...(servers.data?.servers ?? []).map(({ name }) => [name, name] as const),
          ]}
        />
        <Search value={tool} onChange={change(setTool)} label="Tool, its whole name" />
        <input
          data-effect="filter"
          aria-label="Caller"
          placeholder="Caller, as key:ci"
          value={caller}
          onChange={({ target }) => setCaller(target.value)}
        />
        <Choice
          label="Outcome"
          value={outcome}
          onChange={change(setOutcome)}
          options={[
            ["", "every outcome"],
            ["ok", "ok"],
            ["failed", "all that failed"],
            ["refused", "refused by the gateway"],
            ["transport_error", "server not reached"],
            ["rpc_error", "protocol error"],
            ["tool_error", "tool failed"],
          ]}
        />
      </div>
      <Running />
      <Loaded query={query} what="The history">
        {({ entries, next }) => (
          <>
            {entries.length === 0 ? (
              <Empty>
                {Object.values(filter).some((value) => value !== "")
                  ? "No call fits."
                  : "No call was made yet. Try a tool from the page of its server."}
              </Empty>
            ) : (
              <Calls calls={entries} onOpen={setOpen} />
            )}
            <div className="row">
              {cursor !== "" && (
                <button type="button" data-route="GET /_meta/history" onClick={() => setCursor("")}>
                  Newest
                </button>
              )}
              {next !== null && (
                <button
                  type="button"
                  data-route="GET /_meta/history"
                  onClick={() => setCursor(next)}
                >
                  Older
                </button>
              )}
            </div>
          </>
        )}
      </Loaded>
      {open !== "" && <CallDetails id={open} onClose={() => setOpen("")} />}
    </Page>
  );
}

/** What runs now, and the way to end it. */
function Running(): ReactNode {
  const about = useAbout();
  const right = rightTo(about, "GET /_meta/calls");
  const isShown = right.isThere && right.reason === undefined;
  const { data } = useAsk<{ calls: readonly RunningRow[]; total: number }>(
    "GET /_meta/calls",
    { limit: 100 },
    { enabled: isShown, every: 2_000 },
  );
  if (!data || data.calls.length === 0) return null;
  return (
    <Section title={`Running: ${data.total}`}>
      <div className="scroll" tabIndex={0} role="region" aria-label="Calls that run">
        <table>
          <thead>
            <tr>
              <th>Since</th>
              <th>Call</th>
              <th>Caller</th>
              <th className="number">For</th>
              <th>
                <span className="hidden">What can be done</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {data.calls.map((call) => (
              <tr key={call.id}>
                <td>
                  <Moment at={call.startedAt} />
                </td>
                <th scope="row">
                  <Words>{`${call.server} / ${call.name}`}</Words>
                </th>
                <td>
                  <Words>{call.principal}</Words>
                </td>
                <td className="number">{formatSpan(call.ms)}</td>
                <td>
                  <div className="row end">
                    <Act
                      route="DELETE /_meta/calls/:id"
                      params={{ id: call.id }}
                      what={`Cancel ${call.name}`}
                      label={`Cancel ${call.name}`}
                      tone="quiet"
                    >
                      Cancel
                    </Act>
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function Calls(props: {
  readonly calls: readonly CallRow[];
  readonly onOpen: (id: string) => void;
}): ReactNode {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Calls">
      <table className="dense">
        <thead>
          <tr>
            <th>At</th>
            <th>Call</th>
            <th>Outcome</th>
            <th>Caller</th>
            <th>Over</th>
            <th className="number">Took</th>
          </tr>
        </thead>
        <tbody>
          {props.calls.map((call) => {
            const { tone, word, reason } = outcomeOf(call);
            return (
              <tr key={call.id}>
                <td>
                  <Moment at={call.at} />
                </td>
                <th scope="row">
                  <button
                    type="button"
                    className="link"
                    data-effect="dialog"
                    onClick={() => props.onOpen(call.id)}
                  >
                    <Words>{`${call.server} / ${call.tool}`}</Words>
                  </button>
                </th>
                <td>
                  <Badge tone={tone}>{word}</Badge>
                  {reason !== undefined && <span className="faint"> {reason}</span>}
                </td>
                <td>
                  <Words>{call.principal}</Words>
                </td>
                <td>
                  <Words>{call.source}</Words>
                </td>
                <td className="number">{formatSpan(call.durationMs)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function CallDetails(props: { readonly id: string; readonly onClose: () => void }): ReactNode {
  const { id, onClose } = props;
  const query = useAsk<{ entry: CallRow }>("GET /_meta/history/:id", { id });
  return (
    <Dialog title="Call" onClose={onClose}>
      <Loaded query={query} what="The call">
        {({ entry }) => <CallEntry entry={entry} />}
      </Loaded>
    </Dialog>
  );
}

function CallEntry({ entry }: { readonly entry: CallRow }): ReactNode {
  const { tone, word, reason } = outcomeOf(entry);
  const path = `/try/${encodeURIComponent(entry.server)}/${encodeURIComponent(entry.tool)}`;
  return (
    <>
      <dl className="facts">
        <div className="wide">
          <dt>Tool</dt>
          <dd>
            <Words>{`${entry.server} / ${entry.tool}`}</Words>
          </dd>
        </div>
        <div>
          <dt>Outcome</dt>
          <dd className="row">
            <Badge tone={tone}>{word}</Badge>
            {reason}
          </dd>
        </div>
        <div>
          <dt>At</dt>
          <dd>
            <Moment at={entry.at} />
          </dd>
        </div>
        <div>
          <dt>Took</dt>
          <dd>
            {formatSpan(entry.durationMs)}
            {entry.queuedMs !== null && `, of these ${formatSpan(entry.queuedMs)} in the gateway`}
          </dd>
        </div>
        <div>
          <dt>Caller</dt>
          <dd>
            <Words>{`${entry.principal}, ${entry.source}`}</Words>
          </dd>
        </div>
        {entry.progress > 0 && (
          <div>
            <dt>Reports</dt>
            <dd>{entry.progress}</dd>
          </div>
        )}
        <div>
          <dt>Id</dt>
          <dd>
            <code>{entry.id}</code>
          </dd>
        </div>
      </dl>
      {entry.message !== undefined && (
        <p className="trouble">
          <Words>{entry.message}</Words>
        </p>
      )}
      {entry.arguments !== undefined && (
        <Section title={entry.argumentsRedacted ? "Arguments, without secrets" : "Arguments"}>
          <Passage text={formatJson(entry.arguments)} label="Arguments" />
        </Section>
      )}
      {(entry.result !== undefined || entry.resultPreview !== undefined) && (
        <Section
          title={
            entry.resultPreview === undefined
              ? "Result"
              : `Result, how it begins${entry.resultSize === undefined ? "" : ` (of ${formatSize(entry.resultSize)})`}`
          }
        >
          <Passage text={entry.resultPreview ?? formatJson(entry.result)} label="Result" />
        </Section>
      )}
      <footer className="row">
        <Link className="button" href={`${path}?from=${encodeURIComponent(entry.id)}`}>
          Open in Try
        </Link>
        <Act
          route="POST /_meta/history/:id/replay"
          params={{ id: entry.id }}
          what="Call once more"
          confirm="The tool is called again with the same arguments, as you. Whatever it does, it does once more."
          done="The call was made once more; the list has it."
        >
          Replay
        </Act>
      </footer>
    </>
  );
}
