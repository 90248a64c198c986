import { GatewayError, isGatewayError } from "propylon";
import type { Jetstream, Opened } from "../link/linking.ts";
import { provideStream, type StreamPlan } from "./provision.ts";
import { forbiddenOf } from "../link/refusal.ts";
import { StoreRequest } from "../link/request.ts";
import type { NatsSettings } from "../settings.ts";
import type { Subjects } from "./subjects.ts";

const PROBE_MS = 2_000;
/** Least `max_payload` of a server, in bytes: messages between gateways fit, and a value has parts by the hundred at most. */
const MIN_PAYLOAD = 65_536;
/** No stream has this name: what expects to be stored there is refused, and nothing is stored. */
const NOWHERE = { "Nats-Expected-Stream": "~" };
/** No bucket, log, topic or id is this. */
const NOTHING = "~";

/**
 * Creates the streams of a store where they are missing, checks those that are there, and whether this user may do what a store needs.
 *
 * @throws {GatewayError} naming the setting that is not as it must be, what is missing, or what is not allowed
 */
export async function provideStore(
  { manager }: Pick<Jetstream, "manager">,
  opened: Opened,
  subjects: Subjects,
  { provision, replicas }: Pick<NatsSettings, "provision" | "replicas">,
): Promise<void> {
  checkPayload(opened);
  for (const plan of plansOf(subjects, replicas))
    await provideStream(manager, plan, provision === "create");
  await probeStore(opened, subjects);
}

function plansOf(subjects: Subjects, replicas: number): readonly StreamPlan[] {
  const shared = {
    storage: "file",
    retention: "limits",
    // A full stream must refuse what is new, and not drop something else for it.
    discard: "new",
    max_age: 0,
  } as const;
  const demands = {
    ...shared,
    max_msg_size: [-1, undefined],
    no_ack: [false, undefined],
    sealed: [false, undefined],
    deny_delete: [false, undefined],
    deny_purge: [false, undefined],
  };
  const values = {
    max_msgs_per_subject: 1,
    republish: { ...subjects.toldValues, headers_only: true },
  };
  const logs = { republish: { ...subjects.toldLogs, headers_only: true } };
  const create = { ...shared, num_replicas: replicas };
  return [
    {
      create: { ...create, ...values, name: subjects.kvStream, subjects: [subjects.allValues] },
      demands: { ...demands, ...values },
    },
    {
      create: { ...create, ...logs, name: subjects.logStream, subjects: [subjects.allLogs] },
      demands: { ...demands, ...logs, max_msgs_per_subject: [-1, 0, undefined] },
    },
  ];
}

function checkPayload({ connection }: Opened): void {
  const { max_payload = 0 } = connection.info ?? {};
  if (max_payload >= MIN_PAYLOAD) return;
  throw new GatewayError("invalid", `The max_payload of NATS is ${max_payload} bytes.`, {
    hint: `Raise it in the server's config to at least ${MIN_PAYLOAD}; its default is 1 MB.`,
  });
}

/** @throws {GatewayError} `forbidden` naming the subject */
async function probeStore(opened: Opened, subjects: Subjects): Promise<void> {
  const { kvStream, logStream } = subjects;
  const request = new StoreRequest(opened, PROBE_MS);
  const writes = [
    subjects.value(NOTHING, NOTHING),
    subjects.floor(NOTHING),
    subjects.part(kvStream, NOTHING, 0),
    subjects.entries(NOTHING, 1),
    subjects.part(logStream, NOTHING, 0),
    subjects.topic(NOTHING),
  ];
  const reads = [subjects.changes(NOTHING), subjects.additions(NOTHING), subjects.topic(NOTHING)];
  const tried = await Promise.allSettled([
    ...writes.map((subject) => request.publish(subject, "", NOWHERE)),
    ...reads.map((subject) => hear(opened, request, subject)),
    ...[kvStream, logStream].flatMap((stream) => [
      request.find(stream, { last_by_subj: NOTHING }),
      request.purge(stream, subjects.part(stream, NOTHING, ">")),
      // Without a config: refused, and nothing is made.
      request.ask(`CONSUMER.CREATE.${stream}`, {}),
    ]),
    request.remove(kvStream, 0),
  ]);
  const reasons = tried.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  const forbidden = reasons.map(forbiddenIn).find(Boolean);
  if (forbidden) throw forbidden;
}

function forbiddenIn(reason: unknown): GatewayError | undefined {
  const { cause } = reason as { readonly cause?: unknown };
  return isGatewayError(cause) ? cause : forbiddenOf(reason);
}

async function hear({ connection }: Opened, request: StoreRequest, subject: string): Promise<void> {
  let refused: Error | undefined;
  const subscription = connection.subscribe(subject, {
    callback: (error) => {
      refused ??= error ?? undefined;
    },
  });
  await request.flush();
  subscription.unsubscribe();
  if (refused) throw refused;
}
