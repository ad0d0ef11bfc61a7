package dev.polis.convergence;

import dev.polis.logtree.Log;
import dev.polis.pki.NodeId;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StagedFiles;
import dev.polis.rpc.BlockingStreams;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.cluster.PluginHolder;
import dev.polis.wire.plugins.FetchRequest;
import dev.polis.wire.plugins.FetchResponse;
import dev.polis.wire.plugins.PluginsGrpc;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

/**
 * Fetches plugins' files from other nodes. If a node disappears, the received part of a file stays,
 * and the next node continues there. It deletes a file with another digest; if one node gave all of
 * it, it names that node and does not use it again.
 */
final class PluginFetch {
  /** The port of the management listener if a holder's address names none. */
  private static final int MANAGEMENT_PORT = 7839;

  /**
   * The time without data after which it leaves a node; another node, or a later attempt,
   * continues.
   */
  private static final Duration SILENCE = Duration.ofSeconds(10);

  /** Opens a channel to one node; the caller shuts the channel down. */
  @FunctionalInterface
  interface Dialer {
    ManagedChannel dial(NodeId node, InetSocketAddress address);
  }

  private final Dialer dialer;
  private final StagedFiles staged;
  private final Duration silence;

  PluginFetch(Dialer dialer, StagedFiles staged) {
    this(dialer, staged, SILENCE);
  }

  /**
   * @param silence the longest silence of a node
   */
  PluginFetch(Dialer dialer, StagedFiles staged, Duration silence) {
    this.dialer = dialer;
    this.staged = staged;
    this.silence = silence;
  }

  /**
   * Fetches a file; returns when the whole file is staged.
   *
   * @param want the plugin of the file
   * @param holders the nodes that report to have it
   * @throws FetchException if no node gave it, with the reason of each
   */
  void fetch(Want want, List<PluginHolder> holders, Log log)
      throws FetchException, InterruptedException {
    new Attempt(want, size(want), log).run(holders);
  }

  /** Returns the size in the manifest, after a check that the manifest belongs to this plugin. */
  private static long size(Want want) throws FetchException {
    try {
      byte[] file = want.manifest().toByteArray();
      PluginManifest manifest = ManifestEnvelope.decode(file).content();
      if (!manifest.digest().equals(want.plugin().digest())) {
        throw new FetchException(
            "the cluster's manifest of %s belongs to another file, %s; push the plugin again"
                .formatted(want.label(), manifest.label()));
      }
      return manifest.size();
    } catch (PluginRefusedException e) {
      throw new FetchException(e.getMessage(), e);
    }
  }

  /** The received part of a file, from all nodes together. */
  private enum Result {
    WHOLE,
    FURTHER,
    STUCK
  }

  /** Fetches one file. */
  private final class Attempt {
    private final Want want;
    private final Digest digest;
    private final long size;
    private final Log log;
    private final Map<String, String> troubles = new LinkedHashMap<>();
    private final Set<String> wrong = new HashSet<>();

    /** The nodes that gave the received bytes; an empty name stands for an earlier attempt. */
    private final Set<String> givers = new HashSet<>();

    private int beginnings = 1;

    Attempt(Want want, long size, Log log) {
      this.want = want;
      this.digest = want.plugin().digest();
      this.size = size;
      this.log = log;
    }

    void run(List<PluginHolder> holders) throws FetchException, InterruptedException {
      if (here() > 0) {
        givers.add("");
      }
      List<PluginHolder> order = new ArrayList<>(holders);
      // A node with wrong bytes costs at most two attempts: one together with others, in which it
      // stays unknown, and one alone.
      int most = 2 * holders.size() + 1;
      while (beginnings <= most) {
        Result result = turn(order);
        if (result == Result.WHOLE) {
          return;
        }
        if (result == Result.STUCK) {
          break;
        }
      }
      throw new FetchException(words(holders));
    }

    /** Requests the file from each node once, one after the other, until it is complete. */
    private Result turn(List<PluginHolder> order) throws FetchException, InterruptedException {
      Result result = Result.STUCK;
      for (PluginHolder holder : List.copyOf(order)) {
        if (wrong.contains(holder.getNodeId())) {
          continue;
        }
        long before = here();
        read(holder, before);
        long now = here();
        if (now >= size) {
          if (finished(holder)) {
            return Result.WHOLE;
          }
          // It serves the next attempt alone, which shows whether it is wrong.
          order.remove(holder);
          order.addFirst(holder);
          return Result.FURTHER;
        }
        if (now > before) {
          result = Result.FURTHER;
        }
      }
      return result;
    }

    private long here() throws FetchException {
      try {
        return staged.size(digest);
      } catch (IOException e) {
        throw unwritable(e);
      }
    }

    private FetchException unwritable(IOException cause) {
      return new FetchException(
          "this node cannot store the file of %s: %s".formatted(want.label(), cause), cause);
    }

    private void read(PluginHolder holder, long offset)
        throws FetchException, InterruptedException {
      ManagedChannel channel;
      try {
        channel = dialer.dial(NodeId.parse(holder.getNodeId()), address(holder.getAddress()));
      } catch (RuntimeException e) {
        troubles.put(holder.getNodeId(), e.getMessage());
        return;
      }
      try {
        read(holder, channel, offset);
      } catch (StatusException e) {
        troubles.put(holder.getNodeId(), e.getMessage());
      } catch (TimeoutException e) {
        troubles.put(holder.getNodeId(), "it sent nothing for %d s".formatted(silence.toSeconds()));
      } finally {
        channel.shutdownNow();
      }
    }

    private void read(PluginHolder holder, ManagedChannel channel, long offset)
        throws StatusException, TimeoutException, FetchException, InterruptedException {
      BlockingClientCall<?, FetchResponse> call =
          PluginsGrpc.newBlockingV2Stub(channel)
              .fetch(FetchRequest.newBuilder().setDigest(digest.hex()).setOffset(offset).build());
      try {
        long position = offset;
        FetchResponse piece = next(call);
        while (piece != null) {
          boolean wrongSize = piece.getSize() != 0 && piece.getSize() != size;
          if (wrongSize || position + piece.getData().size() > size) {
            blame(holder, "its file does not have the %d bytes of the manifest".formatted(size));
            return;
          }
          write(holder, position, piece);
          position += piece.getData().size();
          piece = next(call);
        }
        if (position < size) {
          troubles.put(
              holder.getNodeId(), "it ended after %d of %d bytes".formatted(position, size));
        }
      } finally {
        BlockingStreams.end(call, "this node has enough");
      }
    }

    private FetchResponse next(BlockingClientCall<?, FetchResponse> call)
        throws StatusException, TimeoutException, InterruptedException {
      return call.read(silence.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void write(PluginHolder holder, long position, FetchResponse piece)
        throws FetchException {
      if (piece.getData().isEmpty()) {
        return;
      }
      try {
        staged.write(digest, position, piece.getData().asReadOnlyByteBuffer());
        givers.add(holder.getNodeId());
      } catch (IOException e) {
        throw unwritable(e);
      }
    }

    /**
     * Compares the digest of the received bytes; returns whether the file is complete and right.
     */
    private boolean finished(PluginHolder holder) throws FetchException {
      try {
        staged.finish(digest, want.manifest().toByteArray());
        log.info(
            "the file of %s is complete; the last part came from node %s",
            want.label(), holder.getNodeId());
        return true;
      } catch (PluginStoreException e) {
        if (givers.equals(Set.of(holder.getNodeId()))) {
          blame(holder, "its file has another digest");
        } else {
          log.warning(
              "the parts of %s from several nodes do not fit together; the node fetches the file again",
              want.label());
        }
        givers.clear();
        beginnings++;
        return false;
      } catch (IOException e) {
        throw unwritable(e);
      }
    }

    private void blame(PluginHolder holder, String what) {
      log.warning(
          "this node does not ask node %s for %s again: %s",
          holder.getNodeId(), want.label(), what);
      wrong.add(holder.getNodeId());
      troubles.put(holder.getNodeId(), what);
    }

    private String words(List<PluginHolder> holders) {
      if (holders.isEmpty()) {
        return "no other node has its file; push it again";
      }
      return "no node sent its file: "
          + troubles.entrySet().stream()
              .map(each -> "%s: %s".formatted(each.getKey(), each.getValue()))
              .collect(Collectors.joining("; "))
          + (wrong.size() == holders.size() ? "; push it again" : "");
    }
  }

  /** Reads the address of a management listener, with or without a port. */
  static InetSocketAddress address(String text) {
    return LeaderResolver.address(text, MANAGEMENT_PORT);
  }
}
