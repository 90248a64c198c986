import type { AgentCard, Message, SendMessageRequest } from "@a2a-js/sdk";
import { MAX_ID } from "../post.ts";
import { MAX_PARTS } from "../contract/message.ts";
import type { Sdk } from "./sdk.ts";

/** Most media types, extensions and tasks that a request may name. */
const MAX_NAMES = 1_000;

type CardSkill = AgentCard["skills"][number];

/** A request whose message is one. */
export interface CheckedRequest extends SendMessageRequest {
  readonly message: Message;
}

/**
 * Checks what the SDK's codecs let through: they make anything of anything (A2A 1.0, 3.1.1 and 4.1).
 * @throws {A2AError} `RequestMalformedError`, `ContentTypeNotSupportedError`, `ExtensionSupportRequiredError`
 */
export function checkRequest(
  sdk: Sdk,
  request: SendMessageRequest,
  card: AgentCard,
  extensions: readonly string[],
): asserts request is CheckedRequest {
  checkExtensions(sdk, card, extensions);
  const { message } = request;
  if (!message) throw new sdk.RequestMalformedError("The request has no message.");
  checkLists(sdk, request);
  checkMessage(sdk, message);
  checkHistoryLength(sdk, request.configuration?.historyLength);
  checkModes(sdk, request, skillOf(card, request));
}

/** @throws {A2AError} `RequestMalformedError` for an invalid number of messages */
export function checkHistoryLength(sdk: Sdk, length: number | undefined): void {
  if (length !== undefined && !(Number.isInteger(length) && length >= 0))
    throw new sdk.RequestMalformedError("historyLength must be a whole number from 0.");
}

/** Half a million media types, compared with those of a skill, held the event loop for 0.6 s. */
function checkLists(sdk: Sdk, { message, configuration }: SendMessageRequest): void {
  const lists = [
    ["configuration.acceptedOutputModes", configuration?.acceptedOutputModes, MAX_NAMES],
    ["message.extensions", message?.extensions, MAX_NAMES],
    ["message.referenceTaskIds", message?.referenceTaskIds, MAX_NAMES],
    ["message.parts", message?.parts, MAX_PARTS],
  ] as const;
  const long = lists.find(([, list = [], max]) => list.length > max);
  if (long)
    throw new sdk.RequestMalformedError(
      `${long[0]} has more than ${long[2].toLocaleString("en")} entries.`,
    );
}

function checkMessage(sdk: Sdk, { messageId, contextId, role, parts }: Message): void {
  if (messageId === "") throw new sdk.RequestMalformedError("message.messageId is required.");
  if (Math.max(messageId.length, contextId.length) > MAX_ID)
    throw new sdk.RequestMalformedError(`An id is longer than ${MAX_ID} characters.`);
  if (role !== sdk.Role.ROLE_USER && role !== sdk.Role.ROLE_AGENT)
    throw new sdk.RequestMalformedError("message.role must be ROLE_USER or ROLE_AGENT.");
  if (parts.length === 0 || parts.some(({ content }) => content === undefined))
    throw new sdk.RequestMalformedError(
      "message.parts must have at least one part, each with text, data, raw or url.",
    );
}

function checkExtensions(sdk: Sdk, card: AgentCard, extensions: readonly string[]): void {
  const missing = (card.capabilities?.extensions ?? [])
    .filter(({ required, uri }) => required && !extensions.includes(uri))
    .map(({ uri }) => uri);
  if (missing.length > 0)
    throw new sdk.ExtensionSupportRequiredError(
      `The agent demands extensions: ${missing.join(", ")}. Name them in the header A2A-Extensions.`,
    );
}

/** The skill that a request names, else the first. One that there is not is for the runtime to refuse. */
function skillOf(card: AgentCard, { message, metadata }: SendMessageRequest): Modes {
  const id: unknown = message?.metadata?.["skill"] ?? metadata?.["skill"];
  const skill: CardSkill | undefined =
    card.skills.find((candidate) => candidate.id === id) ?? card.skills[0];
  return {
    inputs: skill?.inputModes.length ? skill.inputModes : card.defaultInputModes,
    outputs: skill?.outputModes.length ? skill.outputModes : card.defaultOutputModes,
  };
}

interface Modes {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** Text and data need no type of their own; only of files does the skill have to know the type. */
function checkModes(
  sdk: Sdk,
  { message, configuration }: SendMessageRequest,
  { inputs, outputs }: Modes,
): void {
  const accepted = configuration?.acceptedOutputModes ?? [];
  if (accepted.length > 0 && !accepted.some((mode) => fits(mode, outputs)))
    throw new sdk.ContentTypeNotSupportedError(
      `The agent does not produce any of the accepted media types. It produces: ${outputs.join(", ")}.`,
    );
  const unknownPart = message?.parts.find(
    ({ content, mediaType }) =>
      (content?.$case === "raw" || content?.$case === "url") &&
      mediaType !== "" &&
      !fits(mediaType, inputs),
  );
  if (unknownPart)
    throw new sdk.ContentTypeNotSupportedError(
      `The agent does not take a file of this media type. It takes: ${inputs.join(", ")}.`,
    );
}

/** Whether two media types can mean the same; either side may have wildcards, parameters, or the short names of contract v1. */
function fits(mode: string, modes: readonly string[]): boolean {
  const wanted = normal(mode);
  return modes.some((other) => covers(wanted, normal(other)) || covers(normal(other), wanted));
}

function covers(pattern: string, type: string): boolean {
  if (pattern === "*/*" || pattern === type) return true;
  return pattern.endsWith("/*") && type.startsWith(pattern.slice(0, -1));
}

const SHORT_NAMES: Readonly<Record<string, string>> = {
  text: "text/plain",
  data: "application/json",
  file: "*/*",
};

function normal(mode: string): string {
  const type = mode.split(";", 1)[0]!.trim().toLowerCase();
  return Object.hasOwn(SHORT_NAMES, type) ? SHORT_NAMES[type]! : type;
}
