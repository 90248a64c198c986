import type { ReactNode } from "react";
import { Asked } from "../../form/asked.tsx";
import { Act } from "../../parts/act.tsx";
import { Words } from "../../parts/text.tsx";
import { endedOf, useRows, type Team } from "./directory.ts";
import { DirectoryList } from "./directory-list.tsx";
import { Difference, Hits, toNames } from "../../parts/hits.tsx";
import { useSecret } from "./secret.tsx";
import { State } from "./users.tsx";

type Show = (title: string, secret: string) => void;

const NEW_TEAM = {
  type: "object",
  properties: {
    id: { type: "string", minLength: 36, maxLength: 36, description: "A UUID; it stays." },
    name: { type: "string", minLength: 1, maxLength: 200 },
  },
  required: ["id", "name"],
};
const GRACE = {
  type: "object",
  properties: {
    grace: {
      type: "string",
      description:
        "How much longer the token before counts, as 10m; at most 24h. Without it, not at all.",
    },
  },
};

/** Deployments of agents, each with one token. */
export function Teams(): ReactNode {
  const { show, shown } = useSecret();
  return (
    <>
      {shown}
      <DirectoryList
        name="teams"
        keyOf={({ id }) => id}
        none="There is no team yet. Add one."
        search={{ textsOf: ({ id, name, owner }) => [id, name, owner], none: "No team fits." }}
        actions={
          <Asked
            label="Add a team"
            tone="primary"
            route="POST /_meta/team-auth/teams"
            input={NEW_TEAM}
            onDone={(answer) => showJwt(show, answer)}
          />
        }
        columns={[
          ["Team", ({ name }) => <Words>{name}</Words>],
          [
            "Id",
            ({ id }) => (
              <code>
                <Words>{id}</Words>
              </code>
            ),
          ],
          ["State", ({ active }) => <State active={active} />],
          ["Owner", ({ owner }) => <Words>{owner}</Words>],
          ["Workspaces", ({ workspaces }) => <Words>{workspaces.join(", ")}</Words>],
          ["Sees", (team) => <Sees team={team} />],
          ["", (team) => <TeamActions team={team} show={show} />],
        ]}
      />
    </>
  );
}

/** A team that was there before has no token to show. */
function showJwt(show: Show, answer: unknown): void {
  const { team, jwt } = answer as { team: Team; jwt?: string };
  if (jwt !== undefined) show(`The token of the team ${team.name}`, jwt);
}

/** What a team sees: the libraries of its workspaces. */
function Sees({ team }: { readonly team: Team }): ReactNode {
  return <Words>{useSeen()(team.workspaces).join(", ")}</Words>;
}

function useSeen(): (workspaces: readonly string[]) => readonly string[] {
  const libraries = useRows("libraries");
  return (workspaces) =>
    libraries
      .filter(({ workspace_id }) => workspace_id !== null && workspaces.includes(workspace_id))
      .map(({ uid }) => uid);
}

function TeamActions({ team, show }: { readonly team: Team; readonly show: Show }): ReactNode {
  const { id, name, active } = team;
  const params = { id };
  const principals = [`team:${id}`];
  const agents = [`every agent of ${name}`];
  return (
    <>
      <Workspaces team={team} />
      <Asked
        label="Rotate"
        name={`Rotate ${name}`}
        route="POST /_meta/team-auth/teams/:id/rotate"
        params={params}
        input={GRACE}
        done={endedOf(`Rotate ${name}`)}
        about={({ grace }) => (
          <Hits names={agents} principals={principals}>
            {grace === undefined
              ? "Refused at once until they have the new token:"
              : "Refused after that time unless they have the new token:"}
          </Hits>
        )}
        onDone={(answer) => showJwt(show, answer)}
      />
      {active ? (
        <Act
          route="DELETE /_meta/team-auth/teams/:id"
          params={params}
          what={`Switch off ${name}`}
          label={`Switch off ${name}`}
          tone="danger"
          done={endedOf(`Switch off ${name}`)}
          confirm={
            <Hits names={agents} principals={principals}>
              Refused until the team is switched on again:
            </Hits>
          }
        >
          Switch off
        </Act>
      ) : (
        <Act
          route="POST /_meta/team-auth/teams/:id/reactivate"
          params={params}
          what={`Switch on ${name}`}
          label={`Switch on ${name}`}
          tone="quiet"
          confirm={<Hits names={agents}>Let in again with the token they have:</Hits>}
        >
          Switch on
        </Act>
      )}
    </>
  );
}

function Workspaces({ team }: { readonly team: Team }): ReactNode {
  const { id, name, workspaces } = team;
  const seen = useSeen();
  const input = {
    type: "object",
    properties: {
      workspace_ids: {
        type: "array",
        title: "Workspaces",
        items: { type: "string", minLength: 1, maxLength: 64 },
        default: workspaces,
      },
    },
    required: ["workspace_ids"],
  };
  return (
    <Asked
      label="Workspaces"
      name={`Workspaces of ${name}`}
      route="PUT /_meta/team-auth/teams/:id/workspaces"
      params={{ id }}
      input={input}
      done={endedOf(`Workspaces of ${name}`)}
      about={({ workspace_ids: next }) => (
        <Difference
          who="The team"
          before={seen(workspaces)}
          after={seen(toNames(next))}
          principals={[`team:${id}`]}
        />
      )}
    />
  );
}
