/** An empty Node process: the floor for start-up. */
process.send({ port: 0 });
process.on("message", () => {});
