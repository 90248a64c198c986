import { useMemo, type ReactNode } from "react";
import { outcomeOf, type CallRow } from "../../model.ts";
import { Badge } from "../../parts/badge.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Table, type Column } from "../../parts/table.tsx";
import { Words } from "../../parts/text.tsx";
import { formatSpan } from "../../kit/words.ts";

/** Calls that ended. Many come each second where much is called: only those that are new are drawn. */
export function Calls(props: {
  readonly calls: readonly CallRow[];
  readonly empty: string;
  readonly onOpen: (id: string) => void;
}): ReactNode {
  const { calls, empty, onOpen } = props;
  const columns = useMemo(() => columnsWith(onOpen), [onOpen]);
  return (
    <Table
      label="Calls"
      rows={calls}
      keyOf={idOf}
      columns={columns}
      nameAt={1}
      empty={empty}
      isDense
    />
  );
}

function idOf({ id }: CallRow): string {
  return id;
}

function columnsWith(onOpen: (id: string) => void): readonly Column<CallRow>[] {
  return [
    ["At", ({ at }) => <Moment at={at} />],
    [
      "Call",
      ({ id, server, tool }) => (
        <button type="button" className="link" data-effect="dialog" onClick={() => onOpen(id)}>
          <Words>{`${server} / ${tool}`}</Words>
        </button>
      ),
    ],
    ["Outcome", (call) => <Outcome call={call} />],
    ["Caller", ({ principal }) => <Words>{principal}</Words>],
    ["Over", ({ source }) => <Words>{source}</Words>],
    ["Took", ({ durationMs }) => formatSpan(durationMs), "number"],
  ];
}

/** How a call ended, with its code. */
function Outcome({ call }: { readonly call: CallRow }): ReactNode {
  const { tone, word, reason } = outcomeOf(call);
  return (
    <>
      <Badge tone={tone}>{word}</Badge>
      {reason !== undefined && <span className="faint"> {reason}</span>}
    </>
  );
}
