package dev.polis.curator;

import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdClosedException;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdWatch;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.WatchEvent;
import dev.polis.etcd.WatchOptions;
import dev.polis.etcd.WatchUpdate;
import dev.polis.event.MutableValue;
import dev.polis.event.Watcher;
import dev.polis.logtree.Log;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.PluginFile;
import dev.polis.wire.cluster.PluginHolder;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.WantedPlugin;
import dev.polis.wire.cluster.WantedPlugins;
import dev.polis.wire.cluster.WatchPluginSetResponse;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Follows which plugins are wanted and which nodes have their files, with one etcd watch for any
 * number of streams. A slow stream skips intermediate states. Thread-safe; its creator closes it,
 * which ends the streams.
 */
final class PluginSetWatch implements AutoCloseable {

  /** The nodes' records and those about plugins; nothing else lies between them. */
  private static final KeyRange NODES_AND_PLUGINS =
      KeyRange.between(RecordKeys.NODES.text(), behind(RecordKeys.PLUGINS.text()));

  /** When a client whose stream has ended should ask for the next leader: after an election. */
  private static final Duration RETRY = Duration.ofSeconds(1);

  /** What the streams get. */
  private sealed interface State {

    /** The set is this. */
    record Known(WatchPluginSetResponse set) implements State {}

    /** Nobody follows the set here any more. */
    record Ended(String reason) implements State {}
  }

  private final MutableValue<State> state = new MutableValue<>();
  private final RecordStore records;
  private final Log log;
  private final Thread reader;

  // For the thread of the reader only, by the node's id.
  private final TreeMap<String, String> addresses = new TreeMap<>();
  private final TreeMap<String, PluginReport> reports = new TreeMap<>();
  private List<WantedPlugin> wanted = List.of();

  /** Starts watching. */
  PluginSetWatch(EtcdClient etcd, RecordStore records, Log log) {
    this.records = records;
    this.log = log;
    this.reader = Thread.ofVirtual().name("curator plugin set watch").start(() -> read(etcd));
  }

  /** Returns the first text behind all that begin with a prefix that ends with a slash. */
  private static String behind(String prefix) {
    return prefix.substring(0, prefix.length() - 1) + (char) ('/' + 1);
  }

  /** Sends the set, and each newer one, until the leadership ends. */
  void follow(CallStreams.Sink<WatchPluginSetResponse> sink) throws InterruptedException {
    try (Watcher<State> watcher = state.watch()) {
      while (true) {
        switch (watcher.get()) {
          case State.Known(WatchPluginSetResponse set) -> sink.send(set);
          case State.Ended(String reason) ->
              throw RpcException.unavailable(reason + "; call again", RETRY);
        }
      }
    }
  }

  private void read(EtcdClient etcd) {
    try (EtcdWatch watch = etcd.watch(NODES_AND_PLUGINS, WatchOptions.snapshot())) {
      while (true) {
        if (apply(watch.next())) {
          publish();
          deleteOrphans();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (EtcdClosedException e) {
      end("this leadership has ended");
    } catch (RuntimeException e) {
      // Without this, the streams would stay open and receive nothing.
      log.error("The curator's watch of the plugin set ended: %s", e.getMessage(), e);
      end("the leader can no longer watch the plugin set: " + e.getMessage());
    }
  }

  private boolean apply(WatchUpdate update) {
    return switch (update) {
      case WatchUpdate.Snapshot snapshot -> {
        addresses.clear();
        reports.clear();
        wanted = List.of();
        snapshot.keys().forEach(this::put);
        yield true;
      }
      case WatchUpdate.Changes changes -> {
        changes.events().forEach(this::change);
        yield true;
      }
      case WatchUpdate.Progress progress -> false;
    };
  }

  private void change(WatchEvent event) {
    if (event.type() == WatchEvent.Type.DELETE) {
      RecordKeys.NODES.extractId(event.key()).ifPresent(addresses::remove);
      RecordKeys.PLUGIN_REPORTS.extractId(event.key()).ifPresent(reports::remove);
      if (event.key().equals(RecordKeys.WANTED_PLUGINS)) {
        wanted = List.of();
      }
    } else {
      put(event.kv());
    }
  }

  private void put(KeyValue stored) {
    RecordKeys.NODES
        .extractId(stored.key())
        .ifPresent(
            id -> addresses.put(id, NodeRecords.parse(stored).getStatus().getExternalAddress()));
    RecordKeys.PLUGIN_REPORTS
        .extractId(stored.key())
        .ifPresent(id -> reports.put(id, RecordState.parse(stored, PluginReport.parser())));
    if (stored.key().equals(RecordKeys.WANTED_PLUGINS)) {
      wanted = RecordState.parse(stored, WantedPlugins.parser()).getWantedList();
    }
  }

  private void publish() {
    Set<String> digests = wanted.stream().map(WantedPlugin::getDigest).collect(Collectors.toSet());
    WatchPluginSetResponse.Builder set = WatchPluginSetResponse.newBuilder().addAllWanted(wanted);
    reports.forEach((id, report) -> holder(id, report, digests).ifPresent(set::addHolders));
    State now = new State.Known(set.build());
    if (!state.peek().equals(Optional.of(now))) {
      // Once ended, it stays ended.
      state.update(before -> before.filter(State.Ended.class::isInstance).orElse(now));
    }
  }

  /** Returns what a node can give to others; empty without files, and while nobody can ask it. */
  private Optional<PluginHolder> holder(String id, PluginReport report, Set<String> digests) {
    String address = addresses.getOrDefault(id, "");
    List<String> files =
        report.getFilesList().stream()
            .map(PluginFile::getDigest)
            .filter(digests::contains)
            .distinct()
            .toList();
    return files.isEmpty() || address.isEmpty()
        ? Optional.empty()
        : Optional.of(
            PluginHolder.newBuilder().setNodeId(id).setAddress(address).addAllFiles(files).build());
  }

  /** Deletes the reports of nodes that are no members any more. */
  private void deleteOrphans() throws InterruptedException {
    for (String id : List.copyOf(reports.keySet())) {
      if (addresses.containsKey(id)) {
        continue;
      }
      try {
        records.deletePluginReport(id);
      } catch (EtcdClosedException e) {
        throw e;
      } catch (EtcdException e) {
        // The report is in nobody's way, and the next change tries again.
        log.warning("The report of the former node %s cannot be deleted: %s", id, e.getMessage());
      }
    }
  }

  private void end(String reason) {
    state.set(new State.Ended(reason));
  }

  @Override
  public void close() {
    reader.interrupt();
    end("this leadership has ended");
  }
}
