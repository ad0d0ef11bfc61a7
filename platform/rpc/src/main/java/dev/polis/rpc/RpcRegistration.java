package dev.polis.rpc;

/** Removes a service from the host, once. */
public interface RpcRegistration extends AutoCloseable {
  /**
   * Removes the service, and waits until no call uses it or the drain time is over. A second call
   * does nothing.
   */
  @Override
  void close();
}
