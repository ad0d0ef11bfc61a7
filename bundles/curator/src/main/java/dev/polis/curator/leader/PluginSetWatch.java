package dev.polis.curator.leader;

import com.google.protobuf.MessageLite;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Watcher;
import dev.polis.curator.record.RecordKeys;
import dev.polis.curator.record.RecordMemory;
import dev.polis.curator.record.RecordSnapshot;
import dev.polis.curator.record.RecordState;
import dev.polis.curator.record.RecordStore;
import dev.polis.etcd.EtcdClosedException;
import dev.polis.etcd.EtcdException;
import dev.polis.logtree.Log;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.PluginFile;
import dev.polis.wire.cluster.PluginHolder;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.WantedPlugin;
import dev.polis.wire.cluster.WatchPluginSetResponse;
import dev.polis.wire.curator.stored.Node;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Follows the wanted plugins and the holders of their files in the leader's memory, for any number
 * of streams. A slow stream skips intermediate states. Thread-safe; its creator closes it, which
 * ends the streams.
 */
public final class PluginSetWatch implements AutoCloseable {

  /** The delay before a client with an ended stream calls the next leader: an election. */
  private static final Duration RETRY = Duration.ofSeconds(1);

  private static final String LEADERSHIP_ENDED = "this leadership has ended";

  /** Holds the state that the streams send. */
  private sealed interface State {

    /** Holds the set at a version of the records. */
    record Known(long version, WatchPluginSetResponse set) implements State {}

    /** Means that the record of the set is damaged. */
    record Damaged(RpcException reason) implements State {}

    /** Means that this node no longer follows the set. */
    record Ended(String reason) implements State {}
  }

  private final MutableValue<RecordSnapshot> seen = new MutableValue<>();
  private final MutableValue<State> state = new MutableValue<>();
  private final RecordStore records;
  private final Log log;
  private final Thread reader;

  /** Starts to follow. */
  PluginSetWatch(RecordStore records, RecordMemory memory, Log log) {
    this.records = records;
    this.log = log;
    memory.listen(this::changed);
    this.reader = Thread.ofVirtual().name("curator plugin set watch").start(this::read);
  }

  /** Sends the set, and each newer one, until the leadership ends. */
  public void follow(CallStreams.Sink<WatchPluginSetResponse> sink) throws InterruptedException {
    RecordSnapshot first = ApiCalls.translating(records::read);
    sink.send(set(first));
    try (Watcher<State> watcher = state.watch()) {
      while (true) {
        switch (watcher.get()) {
          case State.Known(long version, var set) -> {
            if (version > first.version()) {
              sink.send(set);
            }
          }
          case State.Damaged(RpcException reason) -> throw reason;
          case State.Ended(String reason) ->
              throw RpcException.unavailable(reason + "; call again", RETRY);
        }
      }
    }
  }

  /** Wakes the follower, except after most writes, which are reports of nodes' status. */
  private void changed(RecordSnapshot now, Set<String> keys) {
    RecordSnapshot before = seen.peek().orElse(RecordSnapshot.EMPTY);
    if (keys.stream().anyMatch(key -> concerns(key, before, now))) {
      seen.set(now);
    }
  }

  /** Returns whether a changed record may change the set. */
  private static boolean concerns(String key, RecordSnapshot before, RecordSnapshot now) {
    return RecordKeys.NODES.extractId(key).isEmpty()
        || !address(before.state(key)).equals(address(now.state(key)));
  }

  private static Optional<String> address(RecordState state) {
    return state instanceof RecordState.Present(long revision, MessageLite record)
        ? Optional.of(address((Node) record))
        : Optional.empty();
  }

  private void read() {
    try (Watcher<RecordSnapshot> watcher = seen.watch()) {
      while (true) {
        RecordSnapshot now = watcher.get();
        publish(now);
        deleteOrphans(now);
      }
    } catch (InterruptedException | EtcdClosedException e) {
      end(LEADERSHIP_ENDED);
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      // Without this, the streams would stay open and stay silent.
      log.error("The curator's watch of the plugin set ended: %s", e.getMessage(), e);
      end("the leader can no longer watch the plugin set: " + e.getMessage());
    }
  }

  private void publish(RecordSnapshot now) {
    State next = stateOf(now);
    if (!isSame(state.peek(), next)) {
      // An ended state stays.
      state.update(before -> before.filter(State.Ended.class::isInstance).orElse(next));
    }
  }

  private static State stateOf(RecordSnapshot now) {
    try {
      return new State.Known(now.version(), set(now));
    } catch (RpcException damaged) {
      return new State.Damaged(damaged);
    }
  }

  private static boolean isSame(Optional<State> before, State next) {
    return before.isPresent()
        && before.get() instanceof State.Known(long version, var set)
        && next instanceof State.Known(long newer, var now)
        && set.equals(now);
  }

  private static WatchPluginSetResponse set(RecordSnapshot now) {
    List<WantedPlugin> wanted = now.wantedPlugins().getWantedList();
    Set<String> digests = wanted.stream().map(WantedPlugin::getDigest).collect(Collectors.toSet());
    Map<String, String> addresses = new HashMap<>();
    now.nodes().forEach(node -> addresses.put(node.getId(), address(node)));
    WatchPluginSetResponse.Builder set = WatchPluginSetResponse.newBuilder().addAllWanted(wanted);
    now.reports()
        .forEach(
            (id, report) ->
                holder(id, report, addresses.getOrDefault(id, ""), digests)
                    .ifPresent(set::addHolders));
    return set.build();
  }

  private static String address(Node node) {
    return node.getStatus().getExternalAddress();
  }

  /** Returns the holder of a node's files; empty without files or without an address. */
  private static Optional<PluginHolder> holder(
      String id, PluginReport report, String address, Set<String> digests) {
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

  /** Deletes the reports of former members. */
  private void deleteOrphans(RecordSnapshot now) throws InterruptedException {
    Set<String> orphans = new HashSet<>(now.reports().keySet());
    now.nodeIds().forEach(orphans::remove);
    for (String id : orphans) {
      try {
        records.deletePluginReport(id);
      } catch (EtcdClosedException e) {
        throw e;
      } catch (EtcdException | RpcException e) {
        // The report does no harm, and the next change tries again.
        log.warning(
            "The leader cannot delete the report of the former node %s: %s", id, e.getMessage());
      }
    }
  }

  private void end(String reason) {
    state.set(new State.Ended(reason));
  }

  @Override
  public void close() {
    reader.interrupt();
    end(LEADERSHIP_ENDED);
  }
}
