package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.wire.api.ConfigureClusterRequest;
import dev.polis.wire.api.ConfigureClusterResponse;
import dev.polis.wire.api.ManagementGrpc;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RpcSpanTest {
  @Test
  @DisplayName(
      "RPC-04 events have the caller's file and one number per call, also from another thread; outside of a call they have no effect")
  void rpc04_spans() {
    RpcSpan.current().event("outside of any call: %s", "silence");
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(
          RpcHost.CURATOR,
          new ManagementGrpc.ManagementImplBase() {
            @Override
            public void configureCluster(
                ConfigureClusterRequest request,
                StreamObserver<ConfigureClusterResponse> observer) {
              RpcSpan.current().event("first of %d", 2);
              CompletableFuture.runAsync(
                      Context.current().wrap(() -> RpcSpan.current().event("second of %d", 2)))
                  .orTimeout(20, TimeUnit.SECONDS)
                  .join();
              observer.onNext(ConfigureClusterResponse.getDefaultInstance());
              observer.onCompleted();
            }
          });
      Status status =
          RpcFixture.statusOf(
              () ->
                  ManagementGrpc.newBlockingStub(fixture.asOwner())
                      .configureCluster(ConfigureClusterRequest.getDefaultInstance()));

      List<String> events =
          fixture.log("rpc.curator").stream().filter(line -> line.contains(" of 2")).toList();
      assertAll(
          () -> assertTrue(status.isOk()),
          () -> assertEquals(2, events.size(), events.toString()),
          () ->
              assertTrue(
                  events.stream().allMatch(line -> line.contains("RpcSpanTest.java:")),
                  events.toString()),
          () ->
              assertEquals(
                  1,
                  events.stream()
                      .map(line -> line.replaceAll(".*\\[([0-9a-f]{8})\\].*", "$1"))
                      .collect(Collectors.toSet())
                      .size(),
                  events.toString()),
          () -> assertTrue(fixture.log().stream().noneMatch(line -> line.contains("silence"))));
    }
  }

  @Test
  @DisplayName("calls are counted by outcome and time")
  void callsAreCounted() {
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(
          RpcHost.CURATOR, RpcFixture.reaching(ManagementGrpc.getServiceDescriptor()));
      var owner = fixture.asOwner();
      for (int i = 0; i < 3; i++) {
        RpcFixture.statusOf(
            () ->
                ManagementGrpc.newBlockingStub(owner)
                    .configureCluster(ConfigureClusterRequest.getDefaultInstance()));
      }
      RpcStatistics.Method method =
          fixture.host.statistics().methods().stream()
              .filter(each -> each.method().endsWith("/ConfigureCluster"))
              .findFirst()
              .orElseThrow();
      assertAll(
          () -> assertEquals(3, method.calls()),
          () -> assertEquals(3L, method.codes().get(Status.Code.ALREADY_EXISTS)),
          () -> assertEquals(0, method.active()),
          () -> assertEquals(3, method.buckets().stream().mapToLong(Long::longValue).sum()),
          () -> assertTrue(method.seconds() > 0),
          () -> assertEquals("curator", method.listener()),
          () ->
              assertEquals(
                  1,
                  fixture.host.statistics().ports().stream()
                      .mapToInt(RpcStatistics.Port::members)
                      .sum()));
    }
  }
}
