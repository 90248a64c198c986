import type { ReactNode } from "react";
import { Link } from "wouter";
import { verdictOf, type ServerRow } from "../../model.ts";
import { Act } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Outage } from "../../parts/outage.tsx";
import { Empty, Section } from "../../parts/page.tsx";
import { Words } from "../../parts/text.tsx";

/** The servers that somebody should look at: since when, why, and what happens next. */
export function Attention({ servers }: { readonly servers: readonly ServerRow[] }): ReactNode {
  const wrong = servers.filter((server) => ["error", "degraded"].includes(verdictOf(server).tone));
  return (
    <Section title="Needs attention">
      {servers.length === 0 ? (
        <Empty>
          There is no server yet. <Link href="/servers?add=1">Add the first one</Link>.
        </Empty>
      ) : wrong.length === 0 ? (
        <Empty>Nothing: every server that is switched on works.</Empty>
      ) : (
        <ul className="list">
          {wrong.map((server) => (
            <Trouble key={server.name} server={server} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function Trouble({ server }: { readonly server: ServerRow }): ReactNode {
  const { tone, word, reason } = verdictOf(server);
  const { name, breaker } = server;
  return (
    <li>
      <Link href={`/servers/${encodeURIComponent(name)}`}>
        <Words>{name}</Words>
      </Link>
      <Badge tone={tone}>{word}</Badge>
      <span className="faint grow end">
        <Outage server={server} />
      </span>
      {reason !== undefined && (
        <span className="whole">
          <Words>{reason}</Words>
        </span>
      )}
      {breaker && breaker.state !== "closed" && (
        <Act
          route="POST /_meta/servers/:server/breaker/reset"
          params={{ server: name }}
          what={`Close the circuit of ${name}`}
          label={`Close the circuit of ${name}`}
          tone="quiet"
        >
          Close circuit
        </Act>
      )}
    </li>
  );
}
