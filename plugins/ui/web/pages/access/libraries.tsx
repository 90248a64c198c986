import type { ReactNode } from "react";
import { Asked } from "../../form/asked.tsx";
import { Act } from "../../parts/act.tsx";
import { Words } from "../../parts/text.tsx";
import { endedOf, useRows, type Library } from "./directory.ts";
import { DirectoryList } from "./directory-list.tsx";
import { Hits } from "../../parts/hits.tsx";

/** What can be said of a library, when it is made and afterwards. */
function changeOf(library?: Library): Readonly<Record<string, unknown>> {
  return {
    name: { type: "string", maxLength: 200, ...(library && { default: library.name }) },
    workspace_id: {
      type: "string",
      maxLength: 64,
      title: "Workspace",
      description: "Teams of this workspace see it.",
      ...(library?.workspace_id != null && { default: library.workspace_id }),
    },
  };
}

/** What tokens and teams see. */
export function Libraries(): ReactNode {
  const users = useRows("users").map(({ id }) => id);
  const memberships = useRows("memberships");
  const of = (uid: string, role: string): string =>
    memberships
      .filter((one) => one.library_uid === uid && one.role === role)
      .map(({ user }) => user)
      .join(", ");
  const input = {
    type: "object",
    properties: {
      uid: { type: "string", minLength: 1, maxLength: 64, description: "It stays." },
      ...changeOf(),
      owner: { enum: users },
    },
    required: ["uid"],
  };
  return (
    <DirectoryList
      name="libraries"
      keyOf={({ uid }) => uid}
      none="There is no library yet. Add one."
      search={{ textsOf: ({ uid, name }) => [uid, name], none: "No library fits." }}
      actions={
        <Asked
          label="Add a library"
          tone="primary"
          route="POST /_meta/team-auth/libraries"
          input={input}
        />
      }
      columns={[
        ["Library", ({ uid }) => <Words>{uid}</Words>],
        ["Name", ({ name }) => <Words>{name}</Words>],
        ["Workspace", ({ workspace_id }) => <Words>{workspace_id}</Words>],
        ["Owners", ({ uid }) => <Words>{of(uid, "owner")}</Words>],
        ["Managers", ({ uid }) => <Words>{of(uid, "manager")}</Words>],
        ["Readers", ({ uid }) => <Words>{of(uid, "reader")}</Words>],
        ["", (library) => <LibraryActions library={library} />],
      ]}
    />
  );
}

function LibraryActions({ library }: { readonly library: Library }): ReactNode {
  const { uid, workspace_id: workspace } = library;
  const holders = useHolders(uid);
  const teams = useTeamNames();
  const params = { uid };
  return (
    <>
      <Asked
        label="Change"
        name={`Change ${uid}`}
        route="PATCH /_meta/team-auth/libraries/:uid"
        params={params}
        input={{ type: "object", properties: changeOf(library) }}
        done={endedOf(`Change ${uid}`)}
        about={({ workspace_id: next }) =>
          typeof next === "string" &&
          next !== workspace && (
            <>
              <Hits names={teams(workspace)}>
                {workspace === null ? "No team sees it now." : "These teams lose it:"}
              </Hits>
              <Hits names={teams(next)}>
                {teams(next).length === 0 ? "No team of that workspace." : "These teams see it:"}
              </Hits>
            </>
          )
        }
      />
      {workspace !== null && (
        <Act
          route="PATCH /_meta/team-auth/libraries/:uid"
          params={params}
          body={{ workspace_id: null }}
          what={`Take ${uid} from its workspace`}
          label={`Take ${uid} from its workspace`}
          tone="quiet"
          done={endedOf(`Take ${uid} from its workspace`)}
          confirm={<Hits names={teams(workspace)}>No team sees it from now on.</Hits>}
        >
          Take from workspace
        </Act>
      )}
      <Act
        route="DELETE /_meta/team-auth/libraries/:uid"
        params={params}
        what={`Remove ${uid}`}
        label={`Remove ${uid}`}
        tone="danger"
        done={endedOf(`Remove ${uid}`)}
        confirm={
          <Hits names={[...holders, ...teams(workspace)]}>
            The library goes for good, out of every token and team:
          </Hits>
        }
      >
        Remove
      </Act>
    </>
  );
}

/** Tokens that see a library. */
function useHolders(uid: string): readonly string[] {
  return useRows("tokens")
    .filter(({ active, libraries }) => active === 1 && libraries.includes(uid))
    .map(({ user, name, prefix }) => `token ${name} of ${user} ${prefix}`);
}

/** Names of the teams of a workspace. */
function useTeamNames(): (workspace: string | null) => readonly string[] {
  const teams = useRows("teams");
  return (workspace) =>
    teams
      .filter(({ workspaces }) => workspace !== null && workspaces.includes(workspace))
      .map(({ name }) => `team ${name}`);
}
