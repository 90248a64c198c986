import type { ReactNode } from "react";
import { Asked } from "../../form/asked.tsx";
import { Act } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Words } from "../../parts/text.tsx";
import { endedOf, useRows, type Token, type User } from "./directory.ts";
import { DirectoryList } from "./directory-list.tsx";
import { Hits } from "../../parts/hits.tsx";

const NEW_USER = {
  type: "object",
  properties: {
    id: { type: "string", minLength: 1, maxLength: 128, description: "Without spaces; it stays." },
    name: { type: "string", maxLength: 200 },
  },
  required: ["id"],
};

/** People whose tokens see libraries. */
export function Users(): ReactNode {
  const tokens = useRows("tokens");
  const memberships = useRows("memberships");
  return (
    <DirectoryList
      name="users"
      keyOf={({ id }) => id}
      none="There is no user yet. Add one."
      search={{ textsOf: ({ id, name }) => [id, name], none: "No user fits." }}
      actions={
        <Asked
          label="Add a user"
          tone="primary"
          route="POST /_meta/team-auth/users"
          input={NEW_USER}
        />
      }
      columns={[
        ["User", ({ id }) => <Words>{id}</Words>],
        ["Name", ({ name }) => <Words>{name}</Words>],
        ["State", ({ active }) => <State active={active === 1} />],
        ["Tokens", ({ id }) => tokensOf(id, tokens).length],
        [
          "Libraries",
          ({ id }) => {
            const mine = memberships.filter(({ user }) => user === id);
            return (
              <Words>
                {mine.map(({ library_uid, role }) => `${library_uid} (${role})`).join(", ")}
              </Words>
            );
          },
        ],
        ["Since", ({ created_at }) => <Moment at={created_at} />],
        ["", (user) => <UserActions user={user} tokens={tokensOf(user.id, tokens)} />],
      ]}
    />
  );
}

/** Whether something counts. */
export function State({ active }: { readonly active: boolean }): ReactNode {
  return <Badge tone={active ? "ok" : "off"}>{active ? "active" : "switched off"}</Badge>;
}

function tokensOf(user: string, tokens: readonly Token[]): readonly Token[] {
  return tokens.filter((token) => token.user === user && token.active === 1);
}

function UserActions(props: { readonly user: User; readonly tokens: readonly Token[] }): ReactNode {
  const { id, active } = props.user;
  const names = props.tokens.map(({ name, prefix }) => `${name} ${prefix}`);
  const principals = [`user:${id}`];
  return (
    <>
      {active === 1 ? (
        <Act
          route="PATCH /_meta/team-auth/users/:id"
          params={{ id }}
          body={{ active: false }}
          what={`Switch off ${id}`}
          label={`Switch off ${id}`}
          tone="quiet"
          done={endedOf(`Switch off ${id}`)}
          confirm={
            <Hits names={names} principals={principals}>
              Every token of this user is refused until the user is switched on again.
            </Hits>
          }
        >
          Switch off
        </Act>
      ) : (
        <Act
          route="PATCH /_meta/team-auth/users/:id"
          params={{ id }}
          body={{ active: true }}
          what={`Switch on ${id}`}
          label={`Switch on ${id}`}
          tone="quiet"
          confirm={<Hits names={names}>These tokens count again.</Hits>}
        >
          Switch on
        </Act>
      )}
      <Act
        route="DELETE /_meta/team-auth/users/:id"
        params={{ id }}
        what={`Remove ${id}`}
        label={`Remove ${id}`}
        tone="danger"
        done={endedOf(`Remove ${id}`)}
        confirm={
          <Hits names={names} principals={principals}>
            The user goes for good, with all roles for libraries and all tokens.
          </Hits>
        }
      >
        Remove
      </Act>
    </>
  );
}
