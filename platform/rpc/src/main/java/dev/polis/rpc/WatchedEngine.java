package dev.polis.rpc;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;

/** Reports the handshake of another TLS engine if it fails or takes too long, once. */
final class WatchedEngine extends SSLEngine {
  private final SSLEngine engine;
  private final HandshakeLog log;
  private final CountDownLatch over = new CountDownLatch(1);
  private volatile boolean heard;
  private volatile String peer;

  WatchedEngine(SSLEngine engine, HandshakeLog log) {
    super(engine.getPeerHost(), engine.getPeerPort());
    this.engine = engine;
    this.log = log;
    this.peer = engine.getPeerHost() + ":" + engine.getPeerPort();
  }

  /** Names the peer by its address. */
  void belongsTo(InetSocketAddress address) {
    peer = address.getAddress().getHostAddress() + ":" + address.getPort();
  }

  /** Waits for the end of the handshake, and reports one that does not end in time. */
  void reportIfLate() {
    try {
      boolean ended = over.await(log.handshakeTime().toNanos(), TimeUnit.NANOSECONDS);
      if (!ended && heard) {
        log.late(peer);
      }
    } catch (InterruptedException listenerCloses) {
      Thread.currentThread().interrupt();
    }
  }

  private interface Step {
    SSLEngineResult run() throws SSLException;
  }

  private SSLEngineResult watched(Step step) throws SSLException {
    try {
      SSLEngineResult result = step.run();
      if (result.getHandshakeStatus() == SSLEngineResult.HandshakeStatus.FINISHED) {
        over.countDown();
      }
      return result;
    } catch (SSLException failure) {
      if (over.getCount() > 0) {
        over.countDown();
        log.failed(peer, failure);
      }
      throw failure;
    }
  }

  @Override
  public SSLEngineResult wrap(ByteBuffer[] from, int offset, int length, ByteBuffer to)
      throws SSLException {
    return watched(() -> engine.wrap(from, offset, length, to));
  }

  @Override
  public SSLEngineResult unwrap(ByteBuffer from, ByteBuffer[] to, int offset, int length)
      throws SSLException {
    heard |= from.hasRemaining();
    return watched(() -> engine.unwrap(from, to, offset, length));
  }

  @Override
  public Runnable getDelegatedTask() {
    return engine.getDelegatedTask();
  }

  @Override
  public void closeInbound() throws SSLException {
    engine.closeInbound();
  }

  @Override
  public boolean isInboundDone() {
    return engine.isInboundDone();
  }

  @Override
  public void closeOutbound() {
    engine.closeOutbound();
  }

  @Override
  public boolean isOutboundDone() {
    return engine.isOutboundDone();
  }

  @Override
  public String[] getSupportedCipherSuites() {
    return engine.getSupportedCipherSuites();
  }

  @Override
  public String[] getEnabledCipherSuites() {
    return engine.getEnabledCipherSuites();
  }

  @Override
  public void setEnabledCipherSuites(String[] suites) {
    engine.setEnabledCipherSuites(suites);
  }

  @Override
  public String[] getSupportedProtocols() {
    return engine.getSupportedProtocols();
  }

  @Override
  public String[] getEnabledProtocols() {
    return engine.getEnabledProtocols();
  }

  @Override
  public void setEnabledProtocols(String[] protocols) {
    engine.setEnabledProtocols(protocols);
  }

  @Override
  public SSLSession getSession() {
    return engine.getSession();
  }

  @Override
  public SSLSession getHandshakeSession() {
    return engine.getHandshakeSession();
  }

  @Override
  public void beginHandshake() throws SSLException {
    engine.beginHandshake();
  }

  @Override
  public SSLEngineResult.HandshakeStatus getHandshakeStatus() {
    return engine.getHandshakeStatus();
  }

  @Override
  public void setUseClientMode(boolean mode) {
    engine.setUseClientMode(mode);
  }

  @Override
  public boolean getUseClientMode() {
    return engine.getUseClientMode();
  }

  @Override
  public void setNeedClientAuth(boolean need) {
    engine.setNeedClientAuth(need);
  }

  @Override
  public boolean getNeedClientAuth() {
    return engine.getNeedClientAuth();
  }

  @Override
  public void setWantClientAuth(boolean want) {
    engine.setWantClientAuth(want);
  }

  @Override
  public boolean getWantClientAuth() {
    return engine.getWantClientAuth();
  }

  @Override
  public void setEnableSessionCreation(boolean flag) {
    engine.setEnableSessionCreation(flag);
  }

  @Override
  public boolean getEnableSessionCreation() {
    return engine.getEnableSessionCreation();
  }

  @Override
  public SSLParameters getSSLParameters() {
    return engine.getSSLParameters();
  }

  @Override
  public void setSSLParameters(SSLParameters parameters) {
    engine.setSSLParameters(parameters);
  }

  @Override
  public String getApplicationProtocol() {
    return engine.getApplicationProtocol();
  }

  @Override
  public String getHandshakeApplicationProtocol() {
    return engine.getHandshakeApplicationProtocol();
  }
}
