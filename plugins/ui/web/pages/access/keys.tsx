import type { ReactNode } from "react";
import { Asked } from "../../form/asked.tsx";
import { Act } from "../../parts/act.tsx";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Words } from "../../parts/text.tsx";
import { endedOf, useRows, type Key, type Team } from "./directory.ts";
import { DirectoryList } from "./directory-list.tsx";
import { Hits } from "../../parts/hits.tsx";
import { useSecret } from "./secret.tsx";

const TONES: Readonly<Record<Key["state"], Tone>> = {
  signing: "ok",
  verifying: "busy",
  retired: "off",
};
const ALGORITHM = { type: "object", properties: { alg: { enum: ["HS256", "EdDSA"] } } };

/** Keys that sign the tokens of teams. */
export function Keys(): ReactNode {
  const keys = useRows("keys");
  const { show, shown } = useSecret();
  return (
    <>
      {shown}
      <DirectoryList
        name="keys"
        keyOf={({ kid }) => kid}
        none="There is no key yet. The first team gets one."
        actions={
          <Asked
            label="New key"
            tone="primary"
            route="POST /_meta/team-auth/keys"
            input={ALGORITHM}
            about={() => (
              <Hits>
                New tokens are signed with it. Nobody is refused: the keys before it verify until
                they are retired.
              </Hits>
            )}
          />
        }
        columns={[
          [
            "Key",
            ({ kid }) => (
              <code>
                <Words>{kid}</Words>
              </code>
            ),
          ],
          ["Signs with", ({ alg }) => <Words>{alg}</Words>],
          ["State", ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>],
          ["Since", ({ created_at }) => <Moment at={created_at} />],
          ["Retired", ({ retired_at }) => <Moment at={retired_at} />],
          ["", (key) => key.state !== "retired" && <KeyActions of={key} keys={keys} show={show} />],
        ]}
      />
    </>
  );
}

function KeyActions(props: {
  readonly of: Key;
  readonly keys: readonly Key[];
  readonly show: (title: string, secret: string) => void;
}): ReactNode {
  const { kid, alg } = props.of;
  const hit = useRows("teams").filter((team) => mayBeSignedBy(props.of, props.keys, team));
  return (
    <>
      {alg === "HS256" && (
        <Act
          route="POST /_meta/team-auth/keys/:kid/reveal"
          params={{ kid }}
          what={`Reveal ${kid}`}
          label={`Reveal ${kid}`}
          tone="quiet"
          onDone={({ secret }: { secret: string }) => props.show(`The secret of ${kid}`, secret)}
          confirm={
            <Hits>
              Whoever has it can make tokens of every team. Give it to the console that makes tokens
              for one turn, and to nobody else. The audit says that you saw it.
            </Hits>
          }
        >
          Reveal
        </Act>
      )}
      <Act
        route="POST /_meta/team-auth/keys/:kid/retire"
        params={{ kid }}
        what={`Retire ${kid}`}
        label={`Retire ${kid}`}
        tone="danger"
        done={endedOf(`Retire ${kid}`)}
        confirm={
          <Hits
            names={hit.map(({ name }) => `team ${name}`)}
            principals={hit.map(({ id }) => `team:${id}`)}
          >
            Every token that it signed is refused, for good.{" "}
            {hit.length === 0
              ? "No team has one."
              : "These teams may have one, and then need to be rotated:"}
          </Hits>
        }
      >
        Retire
      </Act>
    </>
  );
}

/** Whether a team's token can be of a key: it was made or changed while the key signed. */
function mayBeSignedBy(key: Key, keys: readonly Key[], team: Team): boolean {
  const next = keys.find(({ created_at }) => created_at > key.created_at);
  const isBefore = next === undefined || team.created_at < next.created_at;
  return team.active && isBefore && team.updated_at >= key.created_at;
}
