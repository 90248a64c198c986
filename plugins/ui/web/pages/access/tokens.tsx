import type { ReactNode } from "react";
import { Asked } from "../../form/asked.tsx";
import { Act } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Words } from "../../parts/text.tsx";
import { endedOf, type Token } from "./directory.ts";
import { DirectoryList } from "./directory-list.tsx";
import { Difference, Hits, toNames } from "../../parts/hits.tsx";
import { Mint, useScopable } from "./mint.tsx";
import { useSecret } from "./secret.tsx";

/** Tokens of users: the scope of each is fixed until it is changed here. */
export function Tokens(): ReactNode {
  const { show, shown } = useSecret();
  return (
    <>
      {shown}
      <DirectoryList
        name="tokens"
        keyOf={({ id }) => id}
        none="There is no token yet. Mint one."
        search={{
          textsOf: ({ user, name, prefix, libraries }) => [user, name, prefix, ...libraries],
          none: "No token fits.",
        }}
        actions={<Mint onMinted={show} />}
        columns={[
          [
            "Token",
            ({ prefix, id }) => (
              <code>
                <Words>{prefix || id}</Words>
              </code>
            ),
          ],
          ["Name", ({ name }) => <Words>{name}</Words>],
          ["User", ({ user }) => <Words>{user}</Words>],
          [
            "Libraries",
            ({ kind, libraries }) =>
              kind === "admin" ? "administrates" : <Words>{libraries.join(", ")}</Words>,
          ],
          ["State", (token) => <TokenState token={token} />],
          ["Expires", ({ expires_at }) => <Moment at={expires_at} />],
          ["Last used", ({ last_used_at }) => <Moment at={last_used_at} />],
          ["", (token) => token.active === 1 && <TokenActions token={token} onReplaced={show} />],
        ]}
      />
    </>
  );
}

function TokenState({ token }: { readonly token: Token }): ReactNode {
  if (token.replaced_by !== null) return <Badge tone="off">replaced</Badge>;
  if (token.active === 0) return <Badge tone="off">revoked</Badge>;
  if (token.expires_at !== null && Date.parse(token.expires_at) <= Date.now())
    return <Badge tone="off">expired</Badge>;
  return <Badge tone="ok">active</Badge>;
}

function TokenActions(props: {
  readonly token: Token;
  readonly onReplaced: (title: string, secret: string) => void;
}): ReactNode {
  const { id, name, user, libraries } = props.token;
  const params = { id };
  const principals = [`user:${user}`];
  const names = [`${name} of ${user}: ${libraries.join(", ") || "no library"}`];
  return (
    <>
      {props.token.kind === "access" && <Narrow token={props.token} />}
      <Act
        route="POST /_meta/team-auth/tokens/:id/replace"
        params={params}
        what={`Replace ${name} of ${user}`}
        label={`Replace ${name}`}
        tone="quiet"
        done={endedOf(`Replace ${name}`)}
        onDone={({ secret }: { secret: string }) =>
          props.onReplaced(`The new token ${name} of ${user}`, secret)
        }
        confirm={
          <Hits names={names} principals={principals}>
            Whoever uses it now is refused, and needs the new one, which sees the same:
          </Hits>
        }
      >
        Replace
      </Act>
      <Act
        route="DELETE /_meta/team-auth/tokens/:id"
        params={params}
        what={`Revoke ${name} of ${user}`}
        label={`Revoke ${name}`}
        tone="danger"
        done={endedOf(`Revoke ${name}`)}
        confirm={
          <Hits names={names} principals={principals}>
            Whoever uses it is refused from now on:
          </Hits>
        }
      >
        Revoke
      </Act>
    </>
  );
}

/** Other libraries for a token: those that its user owns or manages, and those it has. */
function Narrow({ token }: { readonly token: Token }): ReactNode {
  const { id, name, libraries } = token;
  const scopable = useScopable(token.user).data?.libraries.map(({ uid }) => uid) ?? [];
  const values = [...new Set([...libraries, ...scopable])];
  return (
    <Asked
      label="Libraries"
      name={`Libraries of ${name}`}
      route="PATCH /_meta/team-auth/tokens/:id"
      params={{ id }}
      input={{
        type: "object",
        properties: { libraries: { type: "array", uniqueItems: true, items: { enum: values } } },
        required: ["libraries"],
      }}
      done={endedOf(`Libraries of ${name}`)}
      about={({ libraries: next }) => (
        <Difference who="The token" before={libraries} after={toNames(next)} />
      )}
    />
  );
}
