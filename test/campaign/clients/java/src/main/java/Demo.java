/** A client or a server of the campaign, on the official Java SDK: "client", "server stdio", "server http" (prints its URL). */
public final class Demo {
  public static void main(String[] args) throws Exception {
    if (args[0].equals("client")) DemoClient.run();
    else DemoServer.run(args[1]);
  }
}
