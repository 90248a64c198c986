import { GatewayError } from "propylon";
import { apiErrorOf, forbiddenOf } from "propylon/plugins/nats";

/** JetStream's own, for what will never fit: the stream takes no message of that size. */
const TOO_LARGE = 10_054;

/** What was not stored, in our words; `undefined` when the queue did not say. */
export function refusedStore(error: unknown): GatewayError | undefined {
  const forbidden = forbiddenOf(error);
  if (forbidden) return forbidden;
  const refused = apiErrorOf(error);
  const { message = "" } = error as { message?: string };
  if (refused?.code === TOO_LARGE || message.includes("max_payload size exceeded"))
    return new GatewayError("too_large", "It is larger than the queue takes.", {
      hint: "Raise max_payload of the NATS server, or max_msg_size of the stream.",
    });
  if (!refused) return undefined;
  return new GatewayError(
    "upstream_error",
    `The queue takes nothing: ${refused.message.replace(/\.$/, "")}.`,
    { hint: "Make room: limits of the stream, of the account, or the disk of the server." },
  );
}
