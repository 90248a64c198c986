import { agentCardSchema, MANIFEST_FILE, manifestSchema } from "propylon/contract";
import { atLevel, demand, shown, Unobservable, type Check } from "../check.ts";
import { readAs } from "./answer.ts";
import { demandJson, memberOf, parsed } from "./exchange.ts";
import type { Scene } from "./scene.ts";

const CARD_MEMBERS = [
  "name",
  "description",
  "version",
  "defaultInputModes",
  "defaultOutputModes",
  "skills",
  "capabilities",
];

/** What every runtime says of itself: its health and its card. */
export const DOCUMENTS = atLevel<Scene>(1, [
  {
    id: "R061",
    title: 'GET /health answers 200 {"status":"ok"}',
    async run({ health }) {
      const { status, text } = await health();
      demand(status === 200, `Expected 200, got ${status}.`);
      demand(memberOf(text, "status") === "ok", `Expected {"status":"ok"}, got ${shown(text)}.`);
    },
  },
  {
    id: "R017",
    title: "GET /health answers application/json",
    run: async ({ health }) => demandJson(await health()),
  },
  {
    id: "R015",
    title: "GET /.well-known/agent-card.json answers 200 application/json",
    async run({ card }) {
      const reply = await card();
      demand(reply.status === 200, `Expected 200, got ${reply.status}.`);
      demandJson(reply);
    },
  },
  {
    id: "R062",
    title: "the card is a valid AgentCard",
    run: async ({ card }) => void readAs(agentCardSchema, (await card()).text, "AgentCard"),
  },
  {
    id: "R031",
    title: "the card has a skill with id, name, description and tags",
    async run({ card }) {
      const skills = memberOf(await cardText(card), "skills");
      demand(Array.isArray(skills) && skills.length > 0, "The card has no skill.");
      const { success } = agentCardSchema.shape.skills.safeParse(skills);
      demand(success, `A skill lacks id, name, description or tags: ${shown(skills)}.`);
    },
  },
  {
    id: "R034",
    title: "the card has name, description, version, modes and capabilities",
    async run({ card }) {
      const text = await cardText(card);
      const missing = CARD_MEMBERS.filter((name) => memberOf(text, name) === undefined);
      demand(missing.length === 0, `The card lacks ${missing.join(", ")}.`);
    },
  },
]);

/** Only for runtimes that serve a manifest: the contract leaves it to them. */
export const MANIFEST: Check<Scene> = {
  id: "R078",
  title: `${MANIFEST_FILE} is a valid manifest`,
  level: 1,
  run: ({ subject }) => void readAs(manifestSchema, subject.manifest?.text ?? "", "manifest"),
};

async function cardText(card: Scene["card"]): Promise<string> {
  const { status, text } = await card();
  if (status !== 200 || parsed(text) === undefined)
    throw new Unobservable("There was no card to look at (see R015 and R062).");
  return text;
}
