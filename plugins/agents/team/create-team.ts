import { Endpoints, Listeners } from "propylon/kit";
import { Offers } from "../agent/offers.ts";
import { ChangeTimes } from "./change-times.ts";
import { createMembers, type MembersInput } from "./members.ts";
import { Team } from "./team.ts";

/** Makes the agents of a config, each with its server and its endpoint. */
export async function createTeam({
  gateway,
  config,
  progress,
}: Pick<MembersInput, "gateway" | "config" | "progress">): Promise<Team> {
  const changes = gateway.keep("changes", () => new ChangeTimes());
  changes.begin();
  const offers = new Offers();
  const members = await createMembers({ gateway, config, progress, offers, changes });
  for (const { server, place } of members.values()) {
    gateway.server(server);
    const { name, endpoint, listener } = place;
    gateway.add(Endpoints, { ...endpoint, name });
    if (listener) gateway.add(Listeners, { ...listener, name });
  }
  gateway.onStart(() => changes.settle());
  return new Team(gateway, members, offers);
}
