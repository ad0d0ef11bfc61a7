package dev.polis.cluster.it;

import com.google.protobuf.ByteString;
import dev.polis.wire.plugins.GraphRequest;
import dev.polis.wire.plugins.GraphResponse;
import dev.polis.wire.plugins.ListRequest;
import dev.polis.wire.plugins.Plugin;
import dev.polis.wire.plugins.PluginsGrpc;
import dev.polis.wire.plugins.StageHeader;
import dev.polis.wire.plugins.StageRequest;
import dev.polis.wire.plugins.StageResponse;
import dev.polis.wire.plugins.StartRequest;
import dev.polis.wire.plugins.StopRequest;
import dev.polis.wire.plugins.SwapProgress;
import dev.polis.wire.plugins.SwapRequest;
import io.grpc.Channel;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Sends plugins to a node and swaps them in, without the command line's process for each. */
final class PluginCalls {

  /** Well below a message's limit of 4 MiB. */
  private static final int CHUNK = 1 << 20;

  private final Channel channel;

  PluginCalls(Channel channel) {
    this.channel = channel;
  }

  private PluginsGrpc.PluginsBlockingV2Stub plugins() {
    return PluginsGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  /** Returns the graph of all plugins. */
  GraphResponse graph() throws StatusException {
    return plugins().graph(GraphRequest.getDefaultInstance());
  }

  /** Returns all bundles. */
  List<Plugin> list() throws StatusException {
    return plugins().list(ListRequest.getDefaultInstance()).getPluginsList();
  }

  /** Stops a bundle. */
  void stop(String name) throws StatusException {
    plugins().stop(StopRequest.newBuilder().setSymbolicName(name).build());
  }

  /** Starts a bundle. */
  void start(String name) throws StatusException {
    plugins().start(StartRequest.newBuilder().setSymbolicName(name).build());
  }

  /** Sends a packed plugin; returns its digest, which a swap names. */
  String stage(Path jar) throws Exception {
    byte[] content = Files.readAllBytes(jar);
    String digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
    return stage(
        digest, content, Files.readAllBytes(jar.resolveSibling(jar.getFileName() + ".plugin")));
  }

  /** Sends any bytes as a plugin; returns the digest. */
  String stage(String digest, byte[] content, byte[] manifest) throws Exception {
    BlockingClientCall<StageRequest, StageResponse> call = plugins().stage();
    call.write(
        StageRequest.newBuilder()
            .setHeader(
                StageHeader.newBuilder()
                    .setDigest(digest)
                    .setSize(content.length)
                    .setManifest(ByteString.copyFrom(manifest)))
            .build());
    for (int from = 0; from < content.length; from += CHUNK) {
      int size = Math.min(CHUNK, content.length - from);
      call.write(
          StageRequest.newBuilder().setData(ByteString.copyFrom(content, from, size)).build());
    }
    call.halfClose();
    StageResponse there = call.read();
    if (!there.getComplete()) {
      throw new AssertionError(digest + " was not sent whole: " + there);
    }
    return digest;
  }

  /**
   * Swaps in a staged plugin, also an older one; returns the outcome.
   *
   * @param onStage receives each stage as the node reports it
   */
  SwapProgress swap(String digest, Consumer<SwapProgress> onStage) throws Exception {
    BlockingClientCall<?, SwapProgress> call =
        plugins().swap(SwapRequest.newBuilder().setDigest(digest).setOlder(true).build());
    SwapProgress last = SwapProgress.getDefaultInstance();
    for (SwapProgress now = call.read(); now != null; now = call.read()) {
      last = now;
      onStage.accept(now);
    }
    return last;
  }
}
