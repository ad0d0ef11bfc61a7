package dev.polis.rpc;

/** Something that was added to the host, to be taken back once. */
public interface RpcRegistration extends AutoCloseable {
  /**
   * Takes it back, and waits until nothing uses it any more or the time for that is over. Further
   * calls do nothing.
   */
  @Override
  void close();
}
