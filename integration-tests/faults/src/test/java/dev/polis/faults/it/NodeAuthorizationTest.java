package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.Message;
import dev.polis.fixtures.Await;
import dev.polis.pki.Ed25519;
import dev.polis.rpc.RpcClients;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import dev.polis.wire.curator.WatchRequest;
import dev.polis.wire.ext.Permission;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Calls every method of a running node as every kind of caller, and compares the end of each call
 * with a table beside this test. The methods come from the wire format, so a new one fails here
 * until the table has all its cells. {@code -Dpolis.matrix.write=true} writes the table anew.
 */
@Tag("full")
class NodeAuthorizationTest {
  private static final Path TABLE =
      Path.of("src/test/resources/dev/polis/faults/it/node-authorization.txt");

  private static final int CALL_SECONDS = 60;

  private static final Set<String> STRANGERS = Set.of("none", "self-signed", "nameless", "foreign");
  private static final Set<String> NODES = Set.of("node", "other-node");

  private static final Set<Permission> OF_NODES =
      Set.of(Permission.PERMISSION_READ_CLUSTER_STATUS, Permission.PERMISSION_UPDATE_NODE_SELF);

  @TempDir Path directory;

  @Test
  @Tag("attack")
  @DisplayName(
      "RPC-01 every method of a running node treats every kind of caller as the table states")
  void everyMethodDecidesAboutEveryCaller() throws Exception {
    try (FaultNode node = FaultNode.home(directory.resolve("n"), "127.0.32.9")) {
      node.awaitHealthy();
      Map<FuzzMethod, Integer> ports = RpcFuzzTest.ports(node, FuzzMethod.all());
      Map<String, RpcClients> callers = callers(node);
      Map<String, ManagedChannel> channels = new HashMap<>();
      List<String> broken = new ArrayList<>();
      List<FuzzMethod> methods = new ArrayList<>(ports.keySet());
      methods.sort(FuzzMethod.BY_NAME);
      Map<FuzzMethod, String> made = new HashMap<>();
      for (FuzzMethod method : inOrderOfCalls(methods)) {
        made.put(method, row(node, method, ports.get(method), callers, channels, broken));
      }
      List<String> rows = methods.stream().map(made::get).toList();
      assertEquals(List.of(), broken, "cells that contradict the option of the method");
      compare(rows);
      node.requireAlive();
      node.awaitHealthy();
    }
  }

  /** Puts the method last that starts etcd again, since others need etcd. */
  private static List<FuzzMethod> inOrderOfCalls(List<FuzzMethod> methods) {
    return methods.stream()
        .sorted(
            Comparator.comparing(
                method -> method.name().equals("polis.cluster.ClusterCa/RotateEtcdCa")))
        .toList();
  }

  private static Map<String, RpcClients> callers(FaultNode node) throws Exception {
    KeyPair revoked = Ed25519.generate();
    Map<String, RpcClients> callers = new LinkedHashMap<>();
    callers.put("none", node.asNobody());
    callers.put("self-signed", node.asSelfSigned());
    callers.put("nameless", node.asNameless());
    callers.put("foreign", node.asForeigner());
    callers.put("node", node.asNode());
    callers.put("other-node", node.asOtherNode(Ed25519.generate()));
    callers.put("owner", node.asOwner());
    callers.put("revoked", node.asOtherNode(revoked));
    node.revoke(revoked);
    FuzzMethod probe = FuzzMethod.named("metropolis.proto.api.Management/GetClusterInfo");
    Await.until(
        FaultNode.PATIENCE,
        "the revocation to reach the node",
        () ->
            call(node.dial(callers.get("revoked"), FaultNode.CURATOR), probe, new byte[0]).getCode()
                == Status.Code.UNAUTHENTICATED);
    return callers;
  }

  private static String row(
      FaultNode node,
      FuzzMethod method,
      int port,
      Map<String, RpcClients> callers,
      Map<String, ManagedChannel> channels,
      List<String> broken)
      throws Exception {
    StringBuilder row = new StringBuilder(method.name());
    if (port == FaultNode.DEBUG) {
      Status status = call(node.dialDebug(), method, request(node, method));
      return row.append(" plaintext=").append(status.getCode()).toString();
    }
    for (Map.Entry<String, RpcClients> caller : callers.entrySet()) {
      ManagedChannel channel =
          channels.computeIfAbsent(
              caller.getKey() + " " + port, key -> node.dial(caller.getValue(), port));
      Status status = call(channel, method, request(node, method));
      row.append(' ').append(caller.getKey()).append('=').append(status.getCode());
      if (!allowed(method, caller.getKey(), status.getCode())) {
        broken.add(method.name() + " " + caller.getKey() + ": " + status);
      }
    }
    return row.toString();
  }

  /** Returns whether the option of a method allows this end of a call. */
  private static boolean allowed(FuzzMethod method, String caller, Status.Code code) {
    if (caller.equals("revoked")) {
      return code == Status.Code.UNAUTHENTICATED;
    }
    if (method.open()) {
      return true; // the handler decides
    }
    if (STRANGERS.contains(caller)) {
      return code == Status.Code.UNAUTHENTICATED;
    }
    if (NODES.contains(caller) && !OF_NODES.containsAll(method.need())) {
      return code == Status.Code.PERMISSION_DENIED;
    }
    return code != Status.Code.UNAUTHENTICATED
        && code != Status.Code.INTERNAL
        && (code != Status.Code.PERMISSION_DENIED
            || !caller.equals("owner")
            || ofNodesAlone(method));
  }

  /** Returns whether only nodes may call a method, which concerns the calling node itself. */
  private static boolean ofNodesAlone(FuzzMethod method) {
    return Set.of(Permission.PERMISSION_UPDATE_NODE_SELF).containsAll(method.need());
  }

  /** Returns an empty request, or a filled one where the handler distinguishes nodes. */
  private static byte[] request(FaultNode node, FuzzMethod method) {
    Message request =
        switch (method.name()) {
          case "metropolis.node.core.curator.proto.api.Curator/UpdateNodeStatus" ->
              UpdateNodeStatusRequest.newBuilder()
                  .setNodeId(node.id())
                  .setStatus(
                      NodeStatus.newBuilder()
                          .setExternalAddress(node.address())
                          .setRunningCurator(
                              NodeStatus.RunningCurator.newBuilder().setPort(FaultNode.CURATOR)))
                  .build();
          case "metropolis.node.core.curator.proto.api.Curator/Watch" ->
              WatchRequest.newBuilder()
                  .setNodeInCluster(WatchRequest.NodeInCluster.newBuilder().setNodeId(node.id()))
                  .build();
          default -> UpdateNodeStatusRequest.getDefaultInstance(); // no bytes at all
        };
    return request.toByteArray();
  }

  /** Makes a call; one that answers with a message counts as OK, since streams do not end. */
  private static Status call(ManagedChannel channel, FuzzMethod method, byte[] request)
      throws Exception {
    CompletableFuture<Status> end = new CompletableFuture<>();
    ClientCall<byte[], byte[]> call = channel.newCall(method.call(), CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(byte[] answer) {
            if (!method.unary()) {
              end.complete(Status.OK);
              call.cancel("it answers", null);
            }
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(status);
          }
        },
        new Metadata());
    call.request(1);
    call.sendMessage(request);
    call.halfClose();
    return end.get(CALL_SECONDS, TimeUnit.SECONDS);
  }

  private static void compare(List<String> rows) throws Exception {
    if (Boolean.getBoolean("polis.matrix.write")) {
      Files.createDirectories(TABLE.getParent());
      Files.writeString(TABLE, String.join("\n", rows) + "\n");
    }
    assertEquals(Files.readString(TABLE).strip(), String.join("\n", rows));
  }
}
