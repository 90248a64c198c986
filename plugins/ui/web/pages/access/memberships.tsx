import type { ReactNode } from "react";
import { Asked } from "../../form/asked.tsx";
import { Act } from "../../parts/act.tsx";
import { Words } from "../../parts/text.tsx";
import { toText } from "../../kit/words.ts";
import { endedOf, useRows, type Membership } from "./directory.ts";
import { DirectoryList } from "./directory-list.tsx";
import { Hits } from "../../parts/hits.tsx";

/** What a role allows. */
const MAY = {
  owner:
    "may change and remove it, decides who owns, manages and reads it, and may put it into tokens",
  manager: "decides who reads it, and may put it into tokens",
  reader: "keeps it in tokens that have it, and may not put it into others",
} as const;

/** Who owns, manages and reads what. */
export function Memberships(): ReactNode {
  const users = useRows("users").map(({ id }) => id);
  const libraries = useRows("libraries").map(({ uid }) => uid);
  const memberships = useRows("memberships");
  const input = {
    type: "object",
    properties: {
      user: { enum: users },
      library: { enum: libraries },
      role: { enum: Object.keys(MAY) },
    },
    required: ["user", "library", "role"],
  };
  return (
    <DirectoryList
      name="memberships"
      keyOf={({ user, library_uid, role }) => `${library_uid} ${user} ${role}`}
      none="Nobody has a role yet."
      search={{
        textsOf: ({ user, library_uid, role }) => [user, library_uid, role],
        none: "No membership fits.",
      }}
      actions={
        <Asked
          label="Grant a role"
          tone="primary"
          route="POST /_meta/team-auth/memberships"
          input={input}
          about={({ user, library, role }) =>
            typeof role === "string" && (
              <Hits>
                <Words>{`${toText(user) || "The user"} ${MAY[role as keyof typeof MAY]}: ${toText(library)}`}</Words>
              </Hits>
            )
          }
        />
      }
      columns={[
        ["Library", ({ library_uid }) => <Words>{library_uid}</Words>],
        ["User", ({ user }) => <Words>{user}</Words>],
        ["Role", ({ role }) => role],
        ["", (membership) => <Revoke membership={membership} all={memberships} />],
      ]}
    />
  );
}

function Revoke(props: {
  readonly membership: Membership;
  readonly all: readonly Membership[];
}): ReactNode {
  const { user, library_uid: library, role } = props.membership;
  const isLast =
    props.all.filter((one) => one.user === user && one.library_uid === library).length === 1;
  const narrowed = useRows("tokens")
    .filter((token) => token.user === user && token.active === 1)
    .filter(({ libraries }) => libraries.includes(library))
    .map(({ name, prefix }) => `token ${name} ${prefix}`);
  const what = `Revoke ${role} of ${user} for ${library}`;
  return (
    <Act
      route="DELETE /_meta/team-auth/memberships"
      params={{ user, library, role }}
      what={what}
      label={what}
      tone="danger"
      done={endedOf(what)}
      confirm={
        isLast ? (
          <Hits names={narrowed} principals={[`user:${user}`]}>
            It is the last role of <Words>{user}</Words> there:{" "}
            {narrowed.length === 0
              ? "no token loses the library."
              : "these tokens lose the library:"}
          </Hits>
        ) : (
          <Hits>
            <Words>{user}</Words> keeps another role for it, so no token loses the library.
          </Hits>
        )
      }
    >
      Revoke
    </Act>
  );
}
