import type { ReactNode } from "react";
import { Link } from "wouter";
import { outcomeOf, type CallRow } from "../../model.ts";
import { Act } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Section } from "../../parts/page.tsx";
import { Passage, Words } from "../../parts/text.tsx";
import { useAsk } from "../../query.ts";
import { formatJson, formatSize, formatSpan } from "../../kit/words.ts";

/** One call in a dialog: how it ended, its arguments and its result. */
export function CallDetails(props: {
  readonly id: string;
  readonly onClose: () => void;
}): ReactNode {
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
