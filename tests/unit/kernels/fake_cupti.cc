// A libcupti without the profilers of counters: what activity records need, to be found and
// never called.
extern "C" {

int cuptiGetResultString() { return 0; }
int cuptiFinalize() { return 0; }
int cuptiSubscribe() { return 0; }
int cuptiUnsubscribe() { return 0; }
int cuptiActivityRegisterCallbacks() { return 0; }
int cuptiActivityEnable() { return 0; }
int cuptiActivityDisable() { return 0; }
int cuptiActivityFlushAll() { return 0; }
int cuptiActivityGetNextRecord() { return 0; }

}  // extern "C"
