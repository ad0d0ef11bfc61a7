package dev.polis.faults.it;

import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyRange;
import dev.polis.fixtures.LiveTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Holds the state that a call may change: each key of the curator with its revision, and each file
 * of the node with its size and time.
 */
record FaultState(Map<String, String> parts) {

  /** Folders that change without calls: the database itself, and logs. */
  private static final List<String> ALWAYS = List.of("etcd", "audit", "processes", "logs");

  static FaultState of(EtcdClient curator, Path state) throws IOException, InterruptedException {
    Map<String, String> parts = new TreeMap<>();
    curator
        .kv()
        .range(KeyRange.all())
        .keys()
        .forEach(key -> parts.put("key " + key.key(), "revision " + key.modRevision()));
    for (String folder : List.of("data", "esp")) {
      for (Path file : LiveTree.bottomUp(state.resolve(folder))) {
        Path below = state.relativize(file);
        boolean always = false;
        for (Path part : below) {
          always |= ALWAYS.contains(part.toString());
        }
        if (!always && Files.isRegularFile(file)) {
          parts.put("file " + below, mark(file));
        }
      }
    }
    return new FaultState(parts);
  }

  private static String mark(Path file) throws IOException {
    try {
      BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
      return "%d bytes of %s, %s".formatted(now.size(), now.lastModifiedTime(), now.fileKey());
    } catch (NoSuchFileException gone) {
      return "gone";
    }
  }

  /** Returns the differences from an earlier state, one line for each. */
  List<String> since(FaultState before) {
    List<String> changes = new ArrayList<>();
    TreeSet<String> all = new TreeSet<>(parts.keySet());
    all.addAll(before.parts.keySet());
    for (String part : all) {
      String was = before.parts.get(part);
      String is = parts.get(part);
      if (!Objects.equals(was, is)) {
        changes.add("%s: %s, then %s".formatted(part, was, is));
      }
    }
    return changes;
  }
}
