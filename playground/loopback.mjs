// Preloaded into a server that would listen on every interface of the machine: without authentication, that would show
// strangers on the network what runs here. Also tells the parent which port it got, and ends with the parent.
import { Server } from "node:net";

// eslint-disable-next-line typescript/unbound-method -- called with its own `this` below
const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => process.send?.({ port: this.address().port }));
  return listen.call(this, port, "127.0.0.1", ...rest);
};
process.on("disconnect", () => process.exit());
