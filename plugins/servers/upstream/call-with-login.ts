import type { Answer, Call } from "propylon";
import type { Carrier } from "./carrier.ts";
import type { ServerAccount } from "../service.ts";

/** How often a call is made in all, when its caller logs in on the way. */
const MAX_TRIES = 3;

/** Makes a call whose caller may have to log in at the server first. */
export async function callWithLogin(
  account: ServerAccount,
  call: Call,
  carrier: Pick<Carrier, "request">,
): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    try {
      return await carrier.request(call);
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
      const answer = await account.login(call, error);
      if (answer) return answer;
    }
  }
}
