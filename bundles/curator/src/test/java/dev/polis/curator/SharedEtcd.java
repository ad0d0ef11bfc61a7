package dev.polis.curator;

import dev.polis.fixtures.EtcdFixture;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Runs one etcd for the curators of all tests of a class, each of which has records of its own
 * there. A start of etcd costs more than most of these tests.
 */
final class SharedEtcd implements BeforeAllCallback, AfterAllCallback {
  private EtcdFixture etcd; // null before the first test
  private int curators;

  @Override
  public void beforeAll(ExtensionContext context) throws Exception {
    etcd = EtcdFixture.start(1);
  }

  @Override
  public void afterAll(ExtensionContext context) throws Exception {
    etcd.close();
  }

  /** Starts a curator that has bootstrapped a new cluster and leads. */
  CuratorFixture leading() throws Exception {
    curators++;
    return CuratorFixture.leading(etcd.endpoints(), "cluster-" + curators);
  }
}
