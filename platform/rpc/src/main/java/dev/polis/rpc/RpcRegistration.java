package dev.polis.rpc;

/** Takes back, once, what was added to the host. */
public interface RpcRegistration extends AutoCloseable {
  /**
   * Takes it back and waits until no call uses it any more or the drain time is over. Further calls
   * do nothing.
   */
  @Override
  void close();
}
