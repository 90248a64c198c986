import type { ReactNode } from "react";
import { Asked } from "../../form/asked.tsx";
import { matches } from "../../model.ts";
import { Act } from "../../parts/act.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Search } from "../../parts/search.tsx";
import { Table } from "../../parts/table.tsx";
import { Words } from "../../parts/text.tsx";
import { toText } from "../../words.ts";
import { useUrlState } from "../../url-state.ts";
import { endedOf, useList, useRows, type Membership } from "./directory.ts";
import { Hits } from "./hits.tsx";

/** What a role allows. */
const MAY = {
  owner:
    "may change and remove it, decides who owns, manages and reads it, and may put it into tokens",
  manager: "decides who reads it, and may put it into tokens",
  reader: "keeps it in tokens that have it, and may not put it into others",
} as const;

/** Who owns, manages and reads what. */
export function Memberships(): ReactNode {
  const query = useList("memberships");
  const users = useRows("users").map(({ id }) => id);
  const libraries = useRows("libraries").map(({ uid }) => uid);
  const [search, setSearch] = useUrlState("q");
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
    <>
      <div className="row tools">
        <Search label="Search memberships" value={search} onChange={setSearch} />
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
      </div>
      <Loaded query={query} what="The memberships">
        {({ memberships }) => (
          <Table
            label="Memberships"
            rows={memberships.filter(({ user, library_uid, role }) =>
              matches(search, user, library_uid, role),
            )}
            keyOf={({ user, library_uid, role }) => `${library_uid} ${user} ${role}`}
            empty={memberships.length === 0 ? "Nobody has a role yet." : "No membership fits."}
            columns={[
              ["Library", ({ library_uid }) => <Words>{library_uid}</Words>],
              ["User", ({ user }) => <Words>{user}</Words>],
              ["Role", ({ role }) => role],
              ["", (membership) => <Revoke membership={membership} all={memberships} />],
            ]}
          />
        )}
      </Loaded>
    </>
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
