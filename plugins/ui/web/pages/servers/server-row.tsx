import type { ReactNode } from "react";
import { Link } from "wouter";
import { verdictOf, type ServerRow, type Traffic } from "../../model.ts";
import { Toggle } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Countdown } from "../../parts/moment.tsx";
import { Words } from "../../parts/text.tsx";
import type { Route } from "../../request.ts";
import { formatNumber, formatSpan } from "../../kit/words.ts";
import { ServerActions } from "./actions.tsx";

const ENABLE: Route = "POST /_meta/servers/:server/enable";
const DISABLE: Route = "POST /_meta/servers/:server/disable";

/** A server in the list: its switch, its state and why, what goes through it. */
export function Server(props: {
  readonly row: ServerRow;
  readonly traffic: Traffic | undefined;
  readonly pick?: { readonly isIn: boolean; readonly onPick: (isIn: boolean) => void };
}): ReactNode {
  const { row, traffic, pick } = props;
  const { tone, word, reason } = verdictOf(row);
  return (
    <tr data-server={row.name}>
      {pick && (
        <td className="narrow">
          <input
            type="checkbox"
            data-effect="select"
            aria-label={`Choose ${row.name}`}
            checked={pick.isIn}
            onChange={({ target }) => pick.onPick(target.checked)}
          />
        </td>
      )}
      <td>
        <Toggle
          on={row.enabled}
          name={row.name}
          enable={ENABLE}
          disable={DISABLE}
          params={{ server: row.name }}
        />
      </td>
      <th scope="row">
        <Link href={`/servers/${encodeURIComponent(row.name)}`}>
          <Words>{row.name}</Words>
        </Link>
      </th>
      <td className="state">
        <Badge tone={tone}>{word}</Badge>
        {reason !== undefined && (
          <div className="reason">
            <Words>{reason}</Words>
            {row.nextRetryAt !== null && (
              <>
                {" "}
                Next attempt <Countdown to={row.nextRetryAt} />.
              </>
            )}
          </div>
        )}
      </td>
      <td className="nowrap">
        {row.transport}
        {row.protocolVersion !== null && <div className="reason">{row.protocolVersion}</div>}
      </td>
      <td className="number">
        {row.tools.enabled === row.tools.total
          ? row.tools.total
          : `${row.tools.enabled} / ${row.tools.total}`}
      </td>
      {traffic && (
        <>
          <td className="number">{formatNumber(traffic.perMinute)}</td>
          <td className="number">{traffic.calls === 0 ? "–" : formatSpan(traffic.p95)}</td>
          <td className="number">{traffic.failed}</td>
        </>
      )}
      <td>
        <div className="row end">
          <ServerActions row={row} />
        </div>
      </td>
    </tr>
  );
}
