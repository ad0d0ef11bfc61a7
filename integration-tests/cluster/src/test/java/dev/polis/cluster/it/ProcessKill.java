package dev.polis.cluster.it;

import dev.polis.fixtures.CrashAgent;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Random;

/**
 * Kills the JVM of a node, and by chance its etcd.
 *
 * @param directory the parent of all state directories
 */
record ProcessKill(Path directory, Random random) implements Outage {

  @Override
  public Path state(String name) {
    return directory.resolve(name);
  }

  @Override
  public void prepared(TestNode node) {}

  @Override
  public String agent(TestNode node, Path point, Collection<String> methods) throws IOException {
    return CrashAgent.whenArmed(point, methods);
  }

  @Override
  public String ended(TestNode node) throws Exception {
    boolean both = random.nextBoolean();
    if (both) {
      node.killEtcd();
    }
    return both ? "killed with its etcd" : "killed";
  }

  @Override
  public void remove(TestNode node) {
    node.close();
  }
}
