package dev.polis.cluster.it;

import dev.polis.fixtures.CrashAgent;
import dev.polis.fixtures.power.RecordedDisk;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Cuts the power of a node: of all its processes, and of the recorded disk that each node has. */
final class PowerCut implements Outage {

  /** Enough for the plugin store, and etcd's logs of 64 MB. */
  private static final long BYTES = 768L << 20;

  private final Random random;
  private final Map<Path, RecordedDisk> disks = new HashMap<>();

  PowerCut(Random random) {
    this.random = random;
  }

  @Override
  public Path state(String name) throws Exception {
    RecordedDisk disk = RecordedDisk.mount(BYTES, List.of());
    Path state = disk.point().resolve(name);
    disks.put(state, disk);
    return state;
  }

  @Override
  public void prepared(TestNode node) throws Exception {
    disks.get(node.state()).sync();
  }

  @Override
  public String agent(TestNode node, Path point, Collection<String> methods) throws IOException {
    return CrashAgent.whenArmedWithAll(point, node.state(), methods);
  }

  @Override
  public String ended(TestNode node) throws Exception {
    TestNode.losePower(List.of(node));
    disks.get(node.state()).losePower(random);
    return "without power";
  }

  @Override
  public void remove(TestNode node) throws Exception {
    try (RecordedDisk _ = disks.remove(node.state())) {
      node.close();
    }
  }
}
