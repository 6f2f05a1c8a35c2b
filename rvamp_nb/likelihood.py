from dataclasses import dataclass
import numpy as np
from rvamp_nb.messages import Moments, Natural
@dataclass(frozen=True)
class Squared:
    def message(self,y,msg,counts):
        c,w=counts.nodes(); V,h,chi=msg
        cV=1+np.multiply.outer(c,V); g=c[:,None]/cV; Eg=w@g; gb=w@(1/cV); vg=w@(g-Eg)**2; f2=(y+h)**2+chi
        return Moments(Eg*(y+h),Eg,(w@g**2)*chi+vg*(y+h)**2,V*Eg,gb),Natural(gb/Eg,y+0*V,vg/Eg**2*f2)
    def derivatives(self,y,f): return f-y,np.ones_like(y)
